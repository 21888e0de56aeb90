"""How probable the policy finds the reference answer after what it wrote."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from assay.ask.cues import cued
from assay.models import Models
from assay.part import Proportion, Rewarding
from assay.types import Episode, Ids, Request, Reward
from assay.verifiers.answers import answer_place, count_answers, find_answer

if TYPE_CHECKING:
    from assay.ask import Codec
    from assay.engine.interface import Engine

Before = Literal["training", "now"]


def debiased(after: float, before: float, *, marked: bool, form: float) -> float:
    """(1 - c) min(1, max(0, r_B - r_A)) + c f (2506.18254)."""
    return (1 - form) * min(1.0, max(0.0, after - before)) + form * marked


def reference_probability(
    episodes: Sequence[Episode], *, models: Models, codec: Codec, form: float, before: Before
) -> list[Reward | None]:
    """r_B = mean_t pi(a_t | question, reasoning, a_<t) of the reference a, and r_A the same without reasoning, of the
    policy `before` training or `now`. None for a problem without a reference that the model has tokens for.
    """
    result: list[Reward | None] = [None] * len(episodes)
    for role in dict.fromkeys(episode.request.role for episode in episodes):
        mine = [i for i, e in enumerate(episodes) if e.request.role == role and len(_reference(e.request, codec))]
        bare = {episodes[i].request.group: cued(episodes[i].request, "", codec) for i in mine}
        first = {episodes[i].request.group: episodes[i].request for i in mine}
        reasoned = [(episodes[i].request, _reasoned(episodes[i], codec)) for i in mine]
        without = [(first[group], context) for group, context in bare.items()]
        policy = models.play(role)
        start = models.reference(role) if before == "training" else policy
        alone = dict(zip(bare, _mean_probabilities(without, start, codec), strict=True))
        for i, after in zip(mine, _mean_probabilities(reasoned, policy, codec), strict=True):
            request = episodes[i].request
            marked = episodes[i].finish == "stop" and count_answers(episodes[i].text, request.problem.wording) == 1
            value = debiased(after, alone[request.group], marked=marked, form=form)
            result[i] = Reward("reference-probability", value)
    return result


def _reference(request: Request, codec: Codec) -> Ids:
    """The tokens of the answer in the worked solution."""
    return codec.encode(find_answer(request.problem.solution or "", request.problem.wording) or "")


def _reasoned(episode: Episode, codec: Codec) -> Ids:
    """The question and what stands before the final answer. A response without a mark gets one at its end."""
    wording, text = episode.request.problem.wording, episode.text
    place = answer_place(text, wording) if count_answers(text, wording) else None
    return cued(episode.request, text if place is None else text[: place[0]], codec, wanting=place is None)


def _mean_probabilities(asked: Sequence[tuple[Request, Ids]], engine: Engine, codec: Codec) -> list[float]:
    """mean_t pi(a_t | context, a_<t) of the reference answer of each request, in these contexts."""
    from assay.engine.interface import Span
    from assay.engine.spans import distinct

    spans = [Span(context, _reference(request, codec), request.temperature) for request, context in asked]
    different, of = distinct(spans)
    scores = engine.score(different) if different else []
    means = [float(np.exp(one.logp.astype(np.float64)).mean()) for one in scores]
    return [means[place] for place in of]


class ReferenceProbability(Rewarding):
    """The mean probability of the reference answer's tokens in the place of the sampled answer, less that without any
    reasoning, at least 0 (RLPR 2506.18254). No verifier is asked.

    Without reasoning the weights from before training say how likely the reference is, so that this number stays the
    same. With `before` at 'now' the present policy says it: the reward then falls as the policy learns to answer at
    once.

        reward=(ReferenceProbability(form=0.1),)
        --mechanism.reward reference-probability --mechanism.reward.0.form 0.1
    """

    solutions = "all"

    form: Proportion = 0.1  # c: the share of the reward that goes to an answer which is marked exactly once
    before: Before = "training"  # whose probability without reasoning is taken away: that of before training, or now's
    does = reference_probability
    outcome = True

    @property
    def refers(self) -> bool:
        return self.before == "training"
