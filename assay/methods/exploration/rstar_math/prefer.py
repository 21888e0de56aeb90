"""Training of the process preference model: of two steps, the better one is to have the higher score."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.ask import Codec
from assay.curate.pairs import SIDES
from assay.forwards.reward_model import Fitted, learn, lessons
from assay.methods.exploration.rstar_math.chosen import KeepPreferences
from assay.models import Models
from assay.part import Count, Forward, Positive
from assay.reward.learnt import read
from assay.scale import Output
from assay.types import Batch, Episode, Row, Stats, by_group

if TYPE_CHECKING:
    from assay.memory import Memory
    from assay.scale import Scale


def preference_loss(values: np.ndarray, sides: np.ndarray, groups: Sequence[str]) -> Fitted:
    """L = mean over groups of the mean over their pairs of -log sigmoid(s_w - s_l), with s = tanh(value).

    `sides` [N, K] has 1 for the winner of the group's pair K, -1 for its loser, and 0 for all others.
    """
    scores, gradient = np.tanh(values), np.zeros(len(values))
    losses, right = [], []
    for group in dict.fromkeys(groups):
        members = np.array([i for i, name in enumerate(groups) if name == group])
        own = sides[members]
        own = own[:, np.abs(own).sum(axis=0) == 2]
        margin = scores[members] @ own
        losses.append(np.logaddexp(0.0, -margin).mean())
        right.append(((margin > 0) + 0.5 * (margin == 0)).mean())
        gradient[members] -= own @ (1 / (1 + np.exp(margin))) / own.shape[1]
    count = max(1, len(losses))
    return float(np.sum(losses) / count), float(np.sum(right) / count), gradient * (1 - scores**2) / count


def prefer_steps(
    rows: Sequence[Row],
    *,
    models: Models,
    memory: Memory,
    codec: Codec,
    scale: Scale,
    num_prompts: int,
    micro_tokens: int,
    place: str,
    model: str,
    rate: float,
    num_epochs: int,
) -> tuple[list[Row], Stats]:
    """The rows as they are. Takes `num_epochs` optimiser steps of the model on the pairs of `num_prompts` trees, which
    come in epochs that go on from step to step.
    """
    trees = [group.members for group in by_group(memory.kept.get(place, ())).values()]
    drawn = [trees[i] for i in _turn(len(trees), memory, min(num_prompts, len(trees)))]
    if not drawn:
        return list(rows), {}
    batch = paired(drawn, memory.store(place), codec)
    settings = dataclasses.replace(
        scale, learning_rate=rate * scale.learning_rate, num_minibatches=1, num_epochs=num_epochs
    )
    key = memory.key("prefer-steps", memory.step, model)
    fits, _ = learn(models[model], batch, _of_sides, key=key, scale=settings, micro_tokens=micro_tokens)
    before, right, _ = fits[0]
    return list(rows), {f"{model}/loss": before, f"{model}/accuracy": right}


def _turn(size: int, memory: Memory, count: int) -> list[int]:
    """The next `count` of so many things, each once an epoch and in another order in each."""
    found = []
    for turn in range(memory.step * count, (memory.step + 1) * count):
        epoch, index = divmod(turn, size)
        found.append(int(memory.key("prefer-steps", epoch).generator().permutation(size)[index]))
    return list(dict.fromkeys(found))


def paired(trees: Sequence[Sequence[Episode]], pairs: dict[str, Any], codec: Codec) -> Batch:
    """A batch of the steps and answers of these trees, each scored behind its last token, with the SIDES of pairs."""
    texts = [text for members in trees for text in members]
    spans = [read(text, "response", codec) for text in texts]
    of = [pairs[members[0].request.group] for members in trees]
    sides = np.zeros((len(texts), max(map(len, of))), np.float32)
    begin = 0
    for members, own in zip(trees, of, strict=True):
        for k, (winner, loser) in enumerate(own):
            sides[begin + winner, k], sides[begin + loser, k] = 1.0, -1.0
        begin += len(members)
    places = [(np.array([len(span.ids)]), np.zeros(1)) for span in spans]
    batch = lessons(spans, places, [text.request.group for text in texts])
    return dataclasses.replace(batch, constants={SIDES: sides})


def _of_sides(values: np.ndarray, part: Batch) -> Fitted:
    return preference_loss(values, part.constants[SIDES].astype(np.float64), part.group)


class PreferSteps(Forward):
    """A process preference model learns which step of a pair is better, on the pairs of `keep-preferences`, by
    -log sigmoid(s_w - s_l) with scores s = tanh(v) (rStar-Math 2501.04519). `step-search` reads it.

        forwards=(PreferSteps(model="preference-model"),)
        --mechanism.forwards prefer-steps --mechanism.forwards.0.model preference-model
    """

    reads = (KeepPreferences,)

    model: str = "preference-model"  # its name in the recipe's `models`
    rate: Positive = 1.0  # its learning rate, as a multiple of the policy's
    num_epochs: Count = 1  # its optimiser steps on the pairs of a step
    does = prefer_steps

    @property
    def outputs(self) -> dict[str, Output]:
        return {self.model: "value"}
