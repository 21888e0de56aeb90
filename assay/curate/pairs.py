"""Preference pairs from verdicts: a right answer of a group is preferred to a wrong one."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from assay.memory import Memory
from assay.part import Count, Curator, Positive
from assay.streams import Stream
from assay.types import Origin, Row, by_group

SIDES = Stream("sides", per="row", fill=0.0, filled_by="`pairs` of `curate`")  # [K] of the pairs of the row's group


def pairs(rows: Sequence[Row], *, memory: Memory, most: int) -> list[Row]:
    """Writes SIDES[K] on every row: 1 on the winner of the group's pair K, -1 on the loser, 0 on other rows."""
    signs = np.zeros((len(rows), most), np.float32)
    for name, group in by_group(rows).items():
        alive = [i for i in group.places if rows[i].in_loss and (rows[i].episode.stream("origin") != Origin.ENV).any()]
        right = [i for i in alive if rows[i].right]
        wrong = [i for i in alive if i not in right and rows[i].episode.finish != "length"]
        generator = memory.key("pairs", memory.step, name).generator()
        winners, losers = generator.permutation(right).tolist(), generator.permutation(wrong).tolist()
        for k in range(min(most, math.lcm(len(winners), len(losers)))):
            signs[winners[k % len(winners)], k], signs[losers[k % len(losers)], k] = 1.0, -1.0
    return [_paired(row, sign) for row, sign in zip(rows, signs, strict=True)]


class Pairs(Curator):
    """Up to `most` pairs of a right and a wrong answer in each group that has both; rows in no pair do not train.

    Right answers and wrong answers are paired in random order, and no pair comes twice. A truncated answer is never
    the loser, because it would teach length.

        curate=(Pairs(most=2),)
        --mechanism.curate pairs --mechanism.curate.0.most 2
    """

    writes = ("rows", SIDES)

    most: Count = 1  # pairs of a group
    does = pairs
    needs_verdict = True


def _paired(row: Row, signs: np.ndarray) -> Row:
    row = row.mark(constants={**row.constants, SIDES: signs})
    return row if signs.any() else row.mark(in_loss=False, in_denominator=False)


def train_at(rows: Sequence[Row], *, temperature: float) -> list[Row]:
    """The rows at this temperature; rows sampled at another one lose the sampler's log-probs and entropies."""
    return [row if row.episode.request.temperature == temperature else _at(row, temperature) for row in rows]


class TrainAt(Curator):
    """Trains all rows at one temperature, whatever temperature they were sampled at; log-probs are computed again.

    curate=(TrainAt(temperature=1.0),)
    --mechanism.curate train-at --mechanism.curate.0.temperature 1.0
    """

    writes = ("rows",)

    temperature: Positive = 1.0  # of the softmax whose log-probs are trained
    does = train_at


def _at(row: Row, temperature: float) -> Row:
    episode = row.episode
    return row.mark(
        episode=dataclasses.replace(
            episode,
            request=dataclasses.replace(episode.request, temperature=temperature),
            segments=tuple(segment.unsampled() for segment in episode.segments),
        )
    )
