"""Sharpening or discovery: did training make likelier what the base could do, or teach what it could not?

The base is given `times` as many samples as the child: at pass@1 one sample of the child is worth so many of the base
(`boundary.multiplier`). A child that only answers with the best of four samples is then no better than its base at any
k, although with equal samples it is better at every k and solves problems that the base did not: so curves, gained
problems and zero sets are all compared after this correction, and none before it.

    first    whether pass@1 rose                                                   all problems
    reach    whether n samples of the child solve more than times n of the base    all problems
    zero     whether they do so where n samples of the base solved nothing        its zero set, `boundary.expansion`

The three are one family, each stated to go up (`verdict`), and together

    discovery      zero SUPPORTED and reach SUPPORTED
    mixed          zero SUPPORTED, reach not: new problems are solved, and as many others are lost
    sharpening     first SUPPORTED, reach REFUTED or EQUAL, zero not SUPPORTED
    undetermined   otherwise; also where base and child do not differ

A chance below 3 / n per sample cannot be told from 0 by n samples (`blind_below`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from assay.errors import DataError
from assay.rng import Key
from assay.scoring.boundary import (
    Counts,
    crossover,
    decompose,
    grid,
    matched,
    misses,
    require_pair,
)
from assay.scoring.conclusion import WORTH, Conclusion, Family, Stated, conclude
from assay.scoring.intervals import LEVEL, Interval, Resampled

Word = Literal["sharpening", "discovery", "mixed", "undetermined"]
ZERO_WORTH = 0.10  # the smallest difference worth knowing on a zero set, which is small
FEWEST_ZERO = 20  # problems that a zero set needs, so that something can be said of it
DRAWS = 2_000  # resampled sets of problems
FAMILY = Family("conditions of sharpening and discovery", 3)
EXCLUDED = ("REFUTED", "EQUAL")  # words for a difference smaller than is worth knowing


@dataclass(frozen=True)
class Boundary:
    """The comparison of a base with its child, and the word for it.

    sharpen_or_discover(base, child, n=64).word
    """

    word: Word
    reason: str
    n: int
    blind_below: float  # 3 / n
    times: Interval  # samples of the base that one of the child is worth
    first: Conclusion
    reach: Conclusion
    zero: Conclusion | None  # None where the zero set is too small
    zero_problems: float
    crossover: float  # at equal samples, without the correction
    gain_share: float | None  # of the change of pass@1, on problems that n samples of the base did not solve
    extrapolated: bool  # whether the base was asked for more samples than its bank has


def sharpen_or_discover(
    base: Counts,
    child: Counts,
    *,
    n: int,
    worth: float = WORTH,
    zero_worth: float = ZERO_WORTH,
    key: Key | None = None,
    draws: int = DRAWS,
) -> Boundary:
    """The verdict on a pair of banks on the same problems. `n` samples of each say what it reaches. The base's bank
    should hold (1 + times) n: n of them choose the zero set, and samples beyond the bank are extrapolated. Intervals
    are over problems, and contain the doubt of `times`, because it is estimated anew in each resampled set.

    sharpen_or_discover(*counts_of(base, child), n=64)
    """
    require_pair(base, child)
    if n < 2 or child.samples < n or base.samples < 2 * n:
        raise DataError(
            f"{n} samples say what a model reaches: the child needs {n} of every problem and has {child.samples}, the "
            f"base 2 x {n} and has {base.samples}; and n is 2 at least."
        )
    table = _Table.of(base, child, n)
    seen = table.measured(np.full((1, len(base)), 1 / len(base)))[0]
    generator = (key or Key("sharpening or discovery"))("bootstrap", len(base), draws).generator()
    weights = generator.multinomial(len(base), np.full(len(base), 1 / len(base)), size=draws) / len(base)
    times, first, reach, zero = (
        Resampled(float(mean), column) for mean, column in zip(seen, table.measured(weights).T, strict=True)
    )
    zero_problems = float(table.zero.sum())
    concluded = (
        conclude(first, Stated(worth, "up"), FAMILY),
        conclude(reach, Stated(worth, "up"), FAMILY),
        conclude(zero, Stated(zero_worth, "up"), FAMILY) if zero_problems >= FEWEST_ZERO else None,
    )
    word, reason = _called(*concluded, zero_problems)
    return Boundary(
        word=word,
        reason=reason,
        n=n,
        blind_below=3 / n,
        times=times.within(LEVEL),
        first=concluded[0],
        reach=concluded[1],
        zero=concluded[2],
        zero_problems=zero_problems,
        crossover=crossover(base, child),
        gain_share=decompose(base, child, n).gain_share,
        extrapolated=n * (1 + times.mean) > base.samples,
    )


def _called(first: Conclusion, reach: Conclusion, zero: Conclusion | None, problems: float) -> tuple[Word, str]:
    if zero is None:
        return "undetermined", f"the zero set has {problems:.0f} problems, fewer than {FEWEST_ZERO}: take harder ones"
    if zero.word == "SUPPORTED" and reach.word == "SUPPORTED":
        return "discovery", f"it solves what the base does not: on the zero set {zero.numbers}"
    if zero.word == "SUPPORTED":
        return "mixed", f"on the zero set {zero.numbers}; over all problems {reach.numbers}"
    if first.word == "SUPPORTED" and reach.word in EXCLUDED:
        return "sharpening", f"pass@1 {first.numbers}, and beyond the base given as many tries more {reach.numbers}"
    if first.word != "SUPPORTED" and reach.word in EXCLUDED:
        return "undetermined", f"the child is not better than its base: pass@1 {first.numbers}"
    return "undetermined", f"what the child reaches beyond its base is not settled: {reach.numbers}"


@dataclass(frozen=True, eq=False)
class _Table:
    """The share of every problem in the measures, so that a resampled set of problems is a weighted mean of rows."""

    n: int
    ks: list[int]  # at which the base's misses stand in `base`
    base: np.ndarray  # float[M, K]
    first: np.ndarray  # float[M], the child's misses at 1
    missed: np.ndarray  # float[M], the child's misses at n
    zero: np.ndarray  # float[M], the base's misses at n
    most: float  # of `times` that the curve of the base allows

    @classmethod
    def of(cls, base: Counts, child: Counts, n: int) -> _Table:
        first, missed = misses(child, [1, n]).T
        reachable = grid(base.samples)
        target = 1.0 - float(first.mean())
        times = matched(reachable, 1.0 - misses(base, reachable).mean(axis=0), target)
        most = min(max(2.0 * times, 2.0), float(base.samples))  # resampled sets may ask for more than all problems do
        ks = grid(max(base.samples, round(n * (1 + most))))
        values = misses(base, ks)
        return cls(n, ks, values, first, missed, misses(base, [n])[:, 0], most)

    def measured(self, weights: np.ndarray) -> np.ndarray:
        """float[R, 4]: times, and the three effects, for R sets of problems given by the weight of each problem."""
        curves = weights @ self.base
        first, missed, zero = (weights @ values for values in (self.first, self.missed, self.zero))
        solved = weights @ (self.zero * (1.0 - self.missed))
        found, places = np.empty((len(weights), 4)), np.log2(self.ks)
        for row, curve in enumerate(curves):
            passed = np.maximum.accumulate(1.0 - curve)  # where extrapolation begins, the curve may step down
            times = min(max(1.0, matched(self.ks, passed, 1.0 - first[row])), self.most)
            more, still = np.interp(np.log2([self.n * times, self.n * (1 + times)]), places, 1.0 - passed)
            above = (solved[row] - (zero[row] - still)) / zero[row] if zero[row] > 0 else 0.0
            found[row] = times, curve[0] - first[row], more - missed[row], above
        return found
