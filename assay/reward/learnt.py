"""Rewards by a reward model: a network of the run's own with one number, its score, at the end of what it read.

`reward-model` of `forwards` trains it. Its value head is zero at first, so every score of a new model is 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from assay.models import Models
from assay.part import Rewarding
from assay.reward.composed import whole
from assay.reward.role_judges import by_parent
from assay.reward.within import steps_of
from assay.scale import Output
from assay.tasks.judging import JUDGE
from assay.tasks.steps import behind_thought
from assay.types import Episode, Reward, RewardScope
from assay.verifiers.answer_tokens import Decoding, token_with

if TYPE_CHECKING:
    from assay.engine.interface import Engine, Span

Sees = Literal["response", "answer"]


def read(episode: Episode, sees: Sees, codec: Decoding) -> Span:
    """The tokens of an answer that a reward model reads: the question, and the response or the part behind its
    reasoning.

    A response that does not mark the end of its reasoning has nothing behind it, so that leaving out the mark does not
    show the reasoning to the model.
    """
    from assay.engine.interface import Span

    ids = episode.stream("ids").astype(np.int32)
    return Span(episode.training_context, ids if sees == "response" else ids[_reasoned(episode, ids.tolist(), codec) :])


def readings(
    episodes: Sequence[Episode], everyone: Sequence[Episode], sees: Sees, critic: str, codec: Decoding
) -> list[list[Span]]:
    """The readings of each answer by a reward model: the answer itself, or each critique of it that the critic wrote.

    A critique stands behind the question and the answer, so that the model reads all three.
    """
    if not critic:
        return [[read(episode, sees, codec)] for episode in episodes]
    written = by_parent([e for e in everyone if e.finish != "error"], critic, JUDGE)
    return [[read(one, "response", codec) for one in written.get(e.request.id, ())] for e in episodes]


def _reasoned(episode: Episode, ids: Sequence[int], codec: Decoding) -> int:
    """The number of tokens up to the end of the reasoning."""
    written = next((i for i, token in enumerate(ids) if token in codec.end_ids), len(ids))
    text = codec.decode(ids[:written])
    place = behind_thought(text, episode.request.problem.wording)
    return written if place is None or place >= len(text) else token_with(ids[:written], place, codec)


def scores_after(engine: Engine, spans: Sequence[Span], *, tokens: int) -> list[np.ndarray]:
    """For each span of T tokens [T + 1]: the score after its first 0, 1, ..., T tokens. Equal spans have equal bits."""
    from assay.engine.interface import Want
    from assay.engine.spans import distinct, forwarded, longer

    different, of = distinct([longer(span) for span in spans])
    found = forwarded(engine, different, Want(value=True), "value", tokens=tokens)
    return [found[place][0].astype(np.float64) for place in of]


def learnt_score(
    episodes: Sequence[Episode],
    *,
    everyone: Sequence[Episode],
    models: Models,
    codec: Decoding,
    micro_tokens: int,
    model: str,
    sees: Sees,
    critic: str,
) -> list[Reward | None]:
    """s(x, y): the score after the last token. With a critic the mean of s(x, y, c) over its critiques c; None without
    one.
    """
    spans = readings(episodes, everyone, sees, critic, codec)
    span_scores = iter(scores_after(models[model], [span for own in spans for span in own], tokens=micro_tokens))
    scores = [[float(next(span_scores)[-1]) for _ in own] for own in spans]
    return [whole("learnt-score", float(np.mean(own))) if own else None for own in scores]


class LearntScore(Rewarding):
    """The score of a reward model of the run, without bounds.

    reward=(LearntScore(model="reward-model"),)
    --mechanism.reward learnt-score --mechanism.reward.0.model reward-model
    """

    model: str = "reward-model"  # the name of the reward model in the recipe's `models`
    sees: Sees = "response"  # what it sees behind the question: all, or what follows the reasoning
    critic: str = ""  # the role whose critiques of the answer it reads too, asked by `ask-judge`; "": none
    does = learnt_score

    @property
    def outputs(self) -> dict[str, Output]:
        return {self.model: "value"}

    def refusal(self, **_: Any) -> str | None:
        return blind("learnt-score", self.sees, self.critic)


def blind(name: str, sees: Sees, critic: str) -> str | None:
    """Why a part cannot hide the reasoning of an answer from a model that reads critiques of it."""
    if not critic or sees == "response":
        return None
    return f"{name}: a critique is about the whole response. Set sees to response, or critic to ''."


def learnt_steps(
    episodes: Sequence[Episode], *, models: Models, codec: Decoding, micro_tokens: int, model: str, marks: str
) -> list[Reward | None]:
    """s_k: the score after the last token of step k, at this token."""
    found = scores_after(models[model], [read(e, "response", codec) for e in episodes], tokens=micro_tokens)
    result: list[Reward | None] = []
    for episode, scores in zip(episodes, found, strict=True):
        ends = [end for end, _ in steps_of(episode.stream("ids").tolist(), codec, marks)]
        at = np.array(ends, dtype=np.int32)
        values = scores[at + 1]
        if np.isfinite(values).all():
            result.append(Reward("learnt-steps", float(values.sum()), "span", values, at))
        else:
            result.append(Reward.unknown("learnt-steps", "not_finite"))
    return result


class LearntSteps(Rewarding):
    """The score that a reward model of the run gives each step of an answer, without bounds. Within `sigmoid` it is the
    probability that the step is good.

        reward=(Outcome(), LearntSteps(model="reward-model"))
        --mechanism.reward outcome,learnt-steps --mechanism.reward.1.model reward-model
    """

    model: str = "reward-model"  # the name of the reward model in the recipe's `models`
    marks: str = "\n,|"  # the characters that end a step
    does = learnt_steps

    @property
    def outputs(self) -> dict[str, Output]:
        return {self.model: "value"}

    @property
    def gives(self) -> RewardScope:
        return "span"
