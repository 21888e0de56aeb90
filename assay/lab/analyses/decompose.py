"""`passk-decomp`: how much of the gain lies where the base had right answers, and how much where it had none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import DataError
from assay.lab.analyses.boundary import told
from assay.lab.analyses.measure import Measure, Plot, Reading, Sheet
from assay.lab.study.charts import Line
from assay.rng import Key
from assay.scoring.boundary import Counts, Decomposition, decompose, misses
from assay.scoring.intervals import DIFFERENCES, Interval, intervals

if TYPE_CHECKING:
    from assay.lab.analyses.pair import Pair

KEY = Key("passk-decomp")
EDGES = (0.0, 0.05, 0.25, 0.75)  # shares of right answers: none, up to 5 %, 25 %, 75 %, and above
NAMES = ("0", "to 0.05", "to 0.25", "to 0.75", "above")


def parts(base: Counts, child: Counts, k: int) -> np.ndarray:
    """float[M, 2]: the change of each problem, on average over which k samples of the base choose: the part that falls
    to problems that they solve, and that which falls to the others. Its means are those of `decompose`.
    """
    before, after = base.c / base.n, child.c / child.n
    unsolved = misses(base, [k])[:, 0]
    gained = unsolved * (after - base.c / (base.n - k))
    return np.stack([after - before - gained, gained], axis=1)


def flows(base: Counts, child: Counts) -> np.ndarray:
    """int[5, 5]: problems by their share of right answers before (rows) and after (columns)."""
    table = np.zeros((len(NAMES), len(NAMES)), dtype=int)
    for before, after in zip(_bins(base), _bins(child), strict=True):
        table[before, after] += 1
    return table


def _bins(counts: Counts) -> np.ndarray:
    return np.searchsorted(np.array(EDGES), counts.c / counts.n, side="left")


def take(pair: Pair) -> Reading:
    base, child = pair.counts
    if base.samples < 2:
        raise DataError("split part of the base's samples chooses and another says how often: two are the least.")
    most = base.samples // 2
    ks = sorted({k for k in (1, 4, 16, 64, 256, 1024) if k <= most} | {most})
    splits = [decompose(base, child, k) for k in ks]
    spread = [intervals(parts(base, child, k), KEY, bounds=DIFFERENCES) for k in ks]
    table = flows(base, child)
    return Reading(
        says=_said(splits[-1], spread[-1]),
        figures={
            "parts": {
                str(split.k): {
                    "distilled": [split.distilled, low.low, low.high],
                    "gained": [split.gained, high.low, high.high],
                    "distilled_share": split.distilled_share,
                    "compression": split.compression,
                }
                for split, (low, high) in zip(splits, spread, strict=True)
            },
            "flows": table.tolist(),
        },
        tables=(_parts(splits, spread), _flows(table)),
        plots=(_plot(ks, spread),),
        beware=(
            "What falls to unsolved problems shrinks as k grows: read the largest k. On problems that were trained on "
            "it may be memory.",
        ),
    )


def _said(last: Decomposition, spread: Sequence[Interval]) -> str:
    share = last.distilled_share
    told_share = "" if share is None else f", {share:.0%} of it"
    return (
        f"pass@1 changed by {last.change:+.3f}: {told(spread[0], sign=True)}{told_share} on problems that {last.k} "
        f"samples of the base solve, {told(spread[1], sign=True)} on the others."
    )


def _parts(found: Sequence[Decomposition], spread: Sequence[Sequence[Interval]]) -> Sheet:
    columns = ("k", "where the base had right answers", "where it had none", "share of the first", "compression")
    rows = tuple(
        (one.k, told(low, sign=True), told(high, sign=True), one.distilled_share, one.compression)
        for one, (low, high) in zip(found, spread, strict=True)
    )
    return Sheet("The change of pass@1, by what k samples of the base solve", columns, rows)


def _flows(table: np.ndarray) -> Sheet:
    rows = tuple((name, *map(int, row)) for name, row in zip(NAMES, table, strict=True))
    return Sheet("Problems by their share of right answers, before (down) and after (across)", ("", *NAMES), rows)


def _plot(ks: Sequence[int], spread: Sequence[Sequence[Interval]]) -> Plot:
    lines = tuple(
        Line(name, tuple((float(k), each[i].mean, each[i].low, each[i].high) for k, each in zip(ks, spread)))
        for i, name in enumerate(("solved by the base", "unsolved by the base"))
    )
    return Plot("Where the gain lies", lines, x="samples of the base", y="change of pass@1", log=True)


PASSK_DECOMP = Measure(
    name="passk-decomp",
    title="Compression or new problems",
    paper="2506.13923",
    asks="does the gain lie on problems that the base could solve in k tries, or on others?",
    needs=("banks",),
    take=take,
)
