"""Preference pairs from rewards: the best answer of a group is preferred to the worst."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.curate.grouping import measure, spread
from assay.curate.pairs import SIDES
from assay.part import Curator
from assay.types import Row, by_group


def best_and_worst(scores: Sequence[float], lengths: Sequence[int], *, tier: float) -> tuple[int, int] | None:
    """The places of winner and loser; None if all scores are equal.

    Of the scores from (1 - tier) S_max + tier S_min on the shortest answer wins, of those up to (1 - tier) S_min +
    tier S_max the longest loses (Meta-Rewarding 2407.19594). Among equally long ones the first does.
    """
    if not spread(scores):
        return None
    high, low, rounding = max(scores), min(scores), 1e-9 * max(map(abs, scores))
    winners = [i for i, score in enumerate(scores) if score >= (1 - tier) * high + tier * low - rounding]
    losers = [i for i, score in enumerate(scores) if score <= (1 - tier) * low + tier * high + rounding]
    return min(winners, key=lambda i: lengths[i]), max(losers, key=lambda i: lengths[i])


def ranked_pairs(rows: Sequence[Row], *, roles: Sequence[str], tier: float, extremes: Sequence[str]) -> list[Row]:
    """Writes SIDES[1] on every row: 1 on the winner of its group, -1 on the loser, 0 on all other rows. Groups of the
    roles in `extremes` have no tier.
    """
    signs = np.zeros((len(rows), 1), np.float32)
    for group in by_group(rows).values():
        there = [i for i in group.places if rows[i].in_loss and len(rows[i].episode)]
        whole = [i for i in there if rows[i].episode.finish != "length"]
        able = [i for i in whole if rows[i].role in roles and rows[i].reward is not None]
        scores = [measure(rows[i], "reward") for i in able]
        near = 0.0 if able and rows[able[0]].role in extremes else tier
        pair = best_and_worst(scores, [len(rows[i].episode) for i in able], tier=near)
        if pair is not None:
            signs[able[pair[0]]], signs[able[pair[1]]] = 1.0, -1.0
    return [_paired(row, sign) for row, sign in zip(rows, signs, strict=True)]


def _paired(row: Row, signs: np.ndarray) -> Row:
    row = row.mark(constants={**row.constants, SIDES: signs})
    return row if signs.any() else row.mark(in_loss=False, in_denominator=False)


class RankedPairs(Curator):
    """A pair of the best and the worst answer of each group, by reward; rows in no pair do not train.

    With a `tier` above 0, the shortest of the answers near the best one wins, and the longest of those near the worst
    one loses, so that longer answers are not preferred for their length (Meta-Rewarding 2407.19594). Truncated answers
    are in no pair.

        curate=(RankedPairs(tier=0.3),)
        --mechanism.curate ranked-pairs --mechanism.curate.0.tier 0.3
    """

    writes = ("rows", SIDES)

    roles: tuple[str, ...] = ("policy",)  # the roles whose answers are paired
    tier: float = 0.0  # how near the best, and the worst, as a share of their distance
    extremes: tuple[str, ...] = ()  # roles whose pairs are the highest and the lowest whatever the tier
    does = ranked_pairs

    def refusal(self, **_: object) -> str | None:
        if 0 <= self.tier < 0.5:
            return None
        return f"ranked-pairs: tier must be from 0 to below 0.5, not {self.tier:g}: an answer would win and lose."
