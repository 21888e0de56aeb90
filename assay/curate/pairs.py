"""Preferences from verdicts: a right answer is preferred to a wrong one of its group."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.curate.grouping import groups, measure
from assay.memory import Memory
from assay.part import Curator
from assay.streams import Stream
from assay.types import Origin, Row

SIDES = Stream("sides", per="row", fill=0.0, filled_by="`pairs` of `curate`")  # [K] of the pairs of the row's group


def pairs(rows: Sequence[Row], *, memory: Memory, most: int) -> list[Row]:
    """In SIDES[K] the winner of the group's pair K has 1, its loser -1, and any other row 0."""
    signs = np.zeros((len(rows), most), np.float32)
    for name, members in groups(rows).items():
        alive = [i for i in members if rows[i].in_loss and (rows[i].episode.stream("origin") != Origin.ENV).any()]
        right = [i for i in alive if measure(rows[i], "accuracy")]
        wrong = [i for i in alive if i not in right and rows[i].episode.finish != "length"]
        generator = memory.key("pairs", memory.step, name).generator()
        winners, losers = generator.permutation(right).tolist(), generator.permutation(wrong).tolist()
        for k in range(min(most, math.lcm(len(winners), len(losers)))):
            signs[winners[k % len(winners)], k], signs[losers[k % len(losers)], k] = 1.0, -1.0
    return [_paired(row, sign) for row, sign in zip(rows, signs, strict=True)]


@dataclass(frozen=True)
class Pairs(Curator):
    """Up to `most` pairs of a right and a wrong answer in each group that has both; other rows do not train.

    Either kind is taken in a random order, round and round, so that no pair comes twice. A truncated answer is no
    loser: it would teach length.
    """

    writes = True
    fills = (SIDES,)

    most: int = 1
    does = pairs


def _paired(row: Row, signs: np.ndarray) -> Row:
    row = row.mark(constants={**row.constants, SIDES: signs})
    return row if signs.any() else row.mark(in_loss=False, in_denominator=False)


def train_at(rows: Sequence[Row], *, temperature: float) -> list[Row]:
    return [row if row.episode.request.temperature == temperature else _at(row, temperature) for row in rows]


@dataclass(frozen=True)
class TrainAt(Curator):
    """Rows are trained at this temperature; what the sampler said of them at another is forgotten."""

    writes = True

    temperature: float = 1.0
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
