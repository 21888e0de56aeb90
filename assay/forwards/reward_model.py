"""Training of a reward model on the answers of a step, from what another reward says of them.

The gradient by the scores is computed from one pass over all answers of an update, before the passes that learn. So
pairs may lie in different micro-batches, and the update does not depend on how the answers are cut.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from assay.curate.continued import CONTINUATION
from assay.engine.spans import laid, longer
from assay.forwards.fit import Goal, fit
from assay.memory import Memory
from assay.models import Models
from assay.part import Count, Forward, Positive, Rewarding
from assay.reward import Outcome
from assay.reward.composed import Child
from assay.reward.learnt import Sees, blind, readings, scores_after
from assay.reward.within import steps_of
from assay.scale import Output
from assay.streams import Names
from assay.types import Batch, Reward, Row, Stats
from assay.verifiers.answer_tokens import Decoding

if TYPE_CHECKING:
    from torch import Tensor

    from assay.engine.interface import Chunk, Engine, Outputs, Span
    from assay.rng import Key
    from assay.scale import Scale

Fitted = tuple[float, float, np.ndarray]
"""(loss, share of pairs or labels that the scores have right, gradient of the loss by each score)."""

Loss = Callable[[np.ndarray, Batch], Fitted]
"""(scores at the places that the mask of a mini-batch marks, the mini-batch) -> the loss, as `Fitted`."""


def pair_loss(scores: np.ndarray, labels: np.ndarray, groups: Sequence[str]) -> Fitted:
    """L = mean over groups of mean over their pairs with r_i > r_j of -log sigmoid(s_i - s_j) (Bradley-Terry).

    Groups of equal labels do not count. Equal scores are half right.
    """
    gradient, losses, right = np.zeros(len(scores)), [], []
    for group in dict.fromkeys(groups):
        members = np.array([i for i, name in enumerate(groups) if name == group])
        better, worse = np.nonzero(labels[members][:, None] > labels[members][None, :])
        if len(better) == 0:
            continue
        better, worse = members[better], members[worse]
        margin = scores[better] - scores[worse]
        losses.append(np.logaddexp(0.0, -margin).mean())
        right.append(((margin > 0) + 0.5 * (margin == 0)).mean())
        pull = 1 / (1 + np.exp(np.minimum(margin, 700.0))) / len(margin)  # sigmoid(-margin) / number of pairs
        np.add.at(gradient, better, -pull)
        np.add.at(gradient, worse, pull)
    count = max(1, len(losses))
    return float(np.sum(losses) / count), float(np.sum(right) / count), gradient / count


def label_loss(scores: np.ndarray, labels: np.ndarray, groups: Sequence[str]) -> Fitted:
    """L = mean of -r log sigmoid(s) - (1 - r) log sigmoid(-s), r the label, from 0 to 1. `groups` plays no part."""
    count = max(1, len(scores))
    losses = labels * np.logaddexp(0.0, -scores) + (1 - labels) * np.logaddexp(0.0, scores)
    right = ((scores > 0) == (labels > 0.5)).sum() / count
    return float(losses.sum() / count), float(right), (1 / (1 + np.exp(-np.clip(scores, -700, 700))) - labels) / count


LOSSES: Mapping[str, Callable[[np.ndarray, np.ndarray, Sequence[str]], Fitted]] = {
    "pairs": pair_loss,
    "labels": label_loss,
}


def reward_model(
    rows: Sequence[Row],
    *,
    models: Models,
    memory: Memory,
    codec: Decoding,
    scale: Scale,
    micro_tokens: int,
    model: str,
    of: Child,
    loss: str,
    sees: Sees,
    marks: str,
    critic: str,
    critiques: float,
    role: str,
    rate: float,
    num_epochs: int,
) -> tuple[list[Row], Stats]:
    """The rows as they are. Takes `num_epochs` optimiser steps of the reward model on all of them that have a label."""
    everyone = [row.episode for row in rows]
    told = zip(rows, of(everyone), strict=True)
    asked = [(row.episode, label) for row, label in told if _teaches(row, label, role)]
    read = readings([episode for episode, _ in asked], everyone, sees, critic, codec)
    taught = [(span, *pair) for own, pair in zip(read, asked, strict=True) for span in own]
    spans = [span for span, _, _ in taught]
    labels = [placed(label, span, codec, marks) for span, _, label in taught]
    batch = lessons(spans, labels, [episode.request.group for _, episode, _ in taught])
    settings = dataclasses.replace(
        scale, learning_rate=rate * scale.learning_rate, num_minibatches=1, num_epochs=num_epochs
    )
    key = memory.key("reward-model", memory.step, model)
    goals = (critiqued(critiques),) if critiques else ()
    goal = labelled(LOSSES[loss])
    fits, critique_losses = learn(
        models[model], batch, goal, *goals, key=key, scale=settings, micro_tokens=micro_tokens
    )
    if not fits:
        return list(rows), {}
    before, right, _ = fits[0]
    stats = {f"{model}/loss": before, f"{model}/accuracy": right}
    return list(rows), stats | ({f"{model}/critique_loss": critique_losses[0] / critiques} if critiques else {})


def _teaches(row: Row, label: Reward | None, role: str) -> bool:
    episode, known = row.episode, label is not None and not label.invalid and not label.unread
    judged = episode.verdict is None or episode.verdict.status != "invalid"
    return known and judged and row.role == role and episode.request.tag != CONTINUATION and episode.finish != "error"


Places = tuple[np.ndarray, np.ndarray]
"""(number of tokens before it, label) of each score of an answer that has a label."""


def placed(label: Reward | None, span: Span, codec: Decoding, marks: str) -> Places:
    """The label of a whole answer stands behind its last token; that of a step where the step ends, mark included. Of
    two labels within one step the lower one counts.
    """
    assert label is not None
    if label.scope == "episode" or label.values is None:
        return np.array([len(span.ids)]), np.array([label.value])
    ends = np.array([end for end, _ in steps_of(span.ids.tolist(), codec, marks)], np.int64)
    given = np.arange(len(span.ids)) if label.at is None else np.asarray(label.at, np.int64)
    which = np.searchsorted(ends, given)  # the first end at or behind the place of the label
    within = which < len(ends)
    lowest = np.full(len(ends), np.inf)
    np.minimum.at(lowest, which[within], np.asarray(label.values, np.float64)[within])
    known = np.isfinite(lowest)
    return ends[known] + 1, lowest[known]


def lessons(spans: Sequence[Span], labels: Sequence[Places], groups: Sequence[str]) -> Batch:
    """A batch of these answers. Its mask marks the places whose score has a label, and `target` is the label."""
    masks, targets = [np.zeros(0, bool)], [np.zeros(0, np.float32)]
    for span, (places, values) in zip(spans, labels, strict=True):
        mask, target = np.zeros(len(span.ids) + 1, bool), np.zeros(len(span.ids) + 1, np.float32)
        mask[places], target[places] = True, values
        masks.append(mask)
        targets.append(target)
    return dataclasses.replace(
        laid([longer(span) for span in spans]),
        mask=np.concatenate(masks),
        target=np.concatenate(targets),
        group=Names.of(groups),
    )


def critiqued(weight: float) -> Goal:
    """L = - weight times the mean over all critiques' tokens of log p(c_t | x, y, c_<t) (CLoud 2408.11791)."""
    from assay.engine.interface import Want

    def weigh(part: Batch) -> np.ndarray:
        share = np.ones(len(part.ids))
        share[part.at[1:] - 1] = 0.0  # the token behind what is read
        return weight * share / max(1.0, share.sum())

    def loss(out: Outputs, chunk: Chunk, share: np.ndarray) -> Tensor:
        return -(out.logp.new_tensor(share) * out.logp).sum()

    return Goal(Want(), weigh, loss)


def labelled(loss: Callable[[np.ndarray, np.ndarray, Sequence[str]], Fitted]) -> Loss:
    """The loss as a function of the scores at the places that the mask marks, and of the batch with their labels."""

    def of_batch(scores: np.ndarray, part: Batch) -> Fitted:
        assert part.target is not None
        rows = np.repeat(np.arange(len(part)), part.lengths)
        return loss(scores, part.target[part.mask].astype(np.float64), part.group[rows[part.mask]])

    return of_batch


def learn(
    engine: Engine,
    batch: Batch,
    loss: Loss,
    *beside: Goal,
    key: Key,
    scale: Scale,
    micro_tokens: int,
) -> tuple[list[Fitted], list[float]]:
    """The optimiser steps on this batch, on the loss of the scores and the goals beside it. Returns the loss before
    each step, and the mean loss of each goal.
    """
    from assay.engine.interface import Span, Want

    fits: list[Fitted] = []

    def weigh(part: Batch) -> np.ndarray:
        cuts = [(part.at[i], part.at[i + 1], part.context_at[i], part.context_at[i + 1]) for i in range(len(part))]
        spans = [Span(part.context[c:d], part.ids[a : b - 1]) for a, b, c, d in cuts]
        scores = np.concatenate(scores_after(engine, spans, tokens=micro_tokens))[part.mask]
        fits.append(loss(scores, part))
        weight = np.zeros(len(part.mask))
        weight[part.mask] = fits[-1][2]
        return weight

    def pull(out: Outputs, chunk: Chunk, weight: np.ndarray) -> Tensor:
        """Has the gradient of the loss: the sum over the scores of dL/ds, held fixed, times s."""
        assert out.value is not None
        return (out.value.new_tensor(weight) * out.value).sum()

    goals = (Goal(Want(value=True), weigh, pull), *beside)
    _, *losses = fit(engine, batch, *goals, key=key, scale=scale, micro_tokens=micro_tokens)
    return fits, losses


class RewardModel(Forward):
    """A reward model, which learns in the run what another reward (`of`) says of answers: of two answers to a question
    which is better (`pairs`), or how good each answer or each of its steps is, from 0 to 1 (`labels`).

    `learnt-score` and `learnt-steps` of `reward` read it. Its labels are those of the answers of the step, whether or
    not these train the policy; continuations have none.

        forwards=(RewardModel(model="reward-model", loss="pairs"),)
        --mechanism.forwards reward-model --mechanism.forwards.0.loss pairs
    """

    model: str = "reward-model"  # the name of the reward model in the recipe's `models`
    of: Rewarding = Outcome()  # the labels; of a reward of steps, the label of each step
    loss: Literal["pairs", "labels"] = "pairs"
    sees: Sees = "response"  # what it sees behind the question: all, or what follows the reasoning
    marks: str = "\n,|"  # the characters that end a step, where steps have labels
    critic: str = ""  # the role whose critiques of the answer it reads too, asked by `ask-judge`; "": none
    critiques: float = 0.0  # the weight of the likelihood of these critiques, beside the loss of the scores
    role: str = "policy"  # whose answers
    rate: Positive = 1.0  # its learning rate, as a multiple of the policy's
    num_epochs: Count = 1  # its optimiser steps on the answers of a step
    does = reward_model

    @property
    def outputs(self) -> dict[str, Output]:
        return {self.model: "both" if self.critiques else "value"}

    def refusal(self, **_: Any) -> str | None:
        if problem := blind("reward-model", self.sees, self.critic):
            return problem
        if self.critiques < 0 or (self.critiques and not self.critic):
            return (
                f"reward-model: critiques, {self.critiques:g}, is the weight of what a critic wrote, and critic is "
                f"'{self.critic}'. Name the critic's role, or set critiques to 0."
            )
        if self.of.gives != "episode" and (self.loss == "pairs" or self.sees == "answer" or self.critic):
            return (
                f"reward-model: {type(self.of).__name__} has a value for each {self.of.gives} of an answer. Set loss "
                "to labels, sees to response and no critic, or take labels of whole answers."
            )
        return None
