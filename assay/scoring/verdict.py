"""From numbers to a verdict: what may be claimed of an effect, by a rule that was fixed before the numbers came.

A claim names the smallest effect worth knowing, `worth`. With the mean D and its interval [L, U] at 95 %

    SUPPORTED     L > 0 and D >= worth
    REFUTED       U < worth: an effect as large as claimed is excluded; REVERSED if U < 0 as well
    INCONCLUSIVE  otherwise

A claim of no difference is SUPPORTED where the interval at 90 % lies within -worth .. worth (two one-sided tests at 5
%), and REFUTED where the interval at 95 % lies beyond `worth` on one side.

The unit of a claim on two checkpoints is the problem (`of_checkpoints`), of a claim on two methods the seed of training
(`of_methods`): samples are no units of either.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np

from assay.errors import DataError, UsageError
from assay.rng import Key
from assay.scoring.inference import effect, seeds_needed, student_quantile
from assay.scoring.intervals import LEVEL, Interval, interval

Word = Literal["SUPPORTED", "REFUTED", "REVERSED", "INCONCLUSIVE"]
Kind = Literal["difference", "equality"]
EQUAL_LEVEL = 0.90  # of the interval of a claim of no difference: two one-sided tests at 5 %
LEAST_SEEDS = 6  # fewer cannot reach p < 0.05 on both sides: 2^-(S-1)
MOST_SEEDS = 20  # whose signs are all tried: a million ways
LEAST_PROBLEMS = 2
TRUNCATED = 0.02  # difference of the shares of truncated answers above which arms are not comparable


@dataclass(frozen=True)
class Needed:
    """What would resolve an undecided claim in four of five studies: so many seeds, and so many problems. `seeds` is
    None where two checkpoints are compared.

    Needed(seeds=9, problems=700)
    """

    seeds: int | None
    problems: int

    def __str__(self) -> str:
        problems = f"{self.problems:,} problems"
        return problems if self.seeds is None else f"{self.seeds} seeds and {problems}"


@dataclass(frozen=True)
class Judgement:
    """A verdict, with the numbers it was read from.

    Judgement("INCONCLUSIVE", Interval(0.01, -0.01, 0.03), 0.02, "the interval holds 0 and 0.02", Needed(14, 800))
    """

    word: Word
    found: Interval
    worth: float
    reason: str
    needed: Needed | None = None  # where it is undecided, and the differences themselves are known
    p: float | None = None  # of the signs of the seeds' differences, where methods are compared

    def __str__(self) -> str:
        more = f"; {self.needed} would resolve it" if self.needed else ""
        return f"{self.word}: {self.reason}{more}"


def verdict(found: Interval, worth: float, kind: Kind = "difference", *, narrow: Interval | None = None) -> Judgement:
    """The verdict on an effect by its interval at 95 %. A claim of no difference needs the one at 90 % too: `narrow`.

    verdict(Interval(0.05, 0.02, 0.08), 0.02).word  # "SUPPORTED"
    """
    if not 0 < worth < math.inf:
        raise UsageError(f"the smallest effect worth knowing is a positive number, not {worth}: 0.02, for example.")
    if math.isnan(found.low) or math.isnan(found.high):
        return Judgement("INCONCLUSIVE", found, worth, "one problem has no interval")
    if kind == "equality":
        if narrow is None:
            raise UsageError("a claim of no difference is judged by the interval at 90 % too: give it as `narrow`.")
        return _equality(found, narrow, worth)
    told = f"{found.mean:+.3f} [{found.low:+.3f}, {found.high:+.3f}]"
    if found.low > 0 and found.mean >= worth:
        return Judgement("SUPPORTED", found, worth, f"{told} lies above 0 and is at least {worth:g}")
    if found.high < 0:
        return Judgement("REVERSED", found, worth, f"{told} lies below 0")
    if found.high < worth:
        return Judgement("REFUTED", found, worth, f"{told} excludes an effect of {worth:g}")
    what = f"{told} is above 0 but smaller than {worth:g}" if found.low > 0 else f"{told} holds both 0 and {worth:g}"
    return Judgement("INCONCLUSIVE", found, worth, what)


def _equality(found: Interval, narrow: Interval, worth: float) -> Judgement:
    told = f"{found.mean:+.3f}, at 90 % [{narrow.low:+.3f}, {narrow.high:+.3f}],"
    if -worth < narrow.low and narrow.high < worth:
        return Judgement("SUPPORTED", found, worth, f"{told} lies within {worth:g} of 0")
    if found.low >= worth or found.high <= -worth:
        return Judgement("REFUTED", found, worth, f"{told} lies beyond {worth:g}")
    return Judgement("INCONCLUSIVE", found, worth, f"{told} lies neither within {worth:g} of 0 nor beyond")


def of_methods(differences: np.ndarray, worth: float, kind: Kind = "difference") -> Judgement:
    """The verdict on two methods by float[S, M], the difference for each seed of training on each problem.

    The interval holds for new seeds and new problems (`assay.scoring.inference`) and decides. `p`, of the signs of the
    seeds, assumes nothing of how they spread, but holds for these problems alone; it is reported beside the verdict.

    of_methods(after - before, worth=0.02)
    """
    values = np.asarray(differences, dtype=np.float64)
    found = effect(values)
    p = sign_flip(values.mean(axis=1).tolist())
    wide = Interval(found.mean, found.low, found.high)
    half = found.error and student_quantile((1 + EQUAL_LEVEL) / 2, found.freedom) * found.error
    narrow = Interval(found.mean, found.mean - half, found.mean + half)
    judged = dataclasses.replace(verdict(wide, worth, kind, narrow=narrow), p=p)
    seeds = seeds_needed(values.mean(axis=1).tolist(), worth)
    return _resolved(judged, Needed(max(seeds, LEAST_SEEDS), problems_needed(values.mean(axis=0), worth)))


def of_checkpoints(differences: np.ndarray, worth: float, key: Key, kind: Kind = "difference") -> Judgement:
    """The verdict on two checkpoints by float[M], the difference on each problem: nothing is said of their methods."""
    values = np.asarray(differences, dtype=np.float64)
    if values.ndim != 1 or len(values) < LEAST_PROBLEMS:
        raise DataError(f"two checkpoints are compared on two problems at least, not on an array of {values.shape}.")
    wide, narrow = (interval(values, key, level=level, bounds=(-1.0, 1.0)) for level in (LEVEL, EQUAL_LEVEL))
    return _resolved(verdict(wide, worth, kind, narrow=narrow), Needed(None, problems_needed(values, worth)))


def _resolved(judged: Judgement, needed: Needed) -> Judgement:
    return dataclasses.replace(judged, needed=needed) if judged.word == "INCONCLUSIVE" else judged


def problems_needed(of_problems: np.ndarray, worth: float, *, power: float = 0.8, level: float = LEVEL) -> int:
    """How many problems would show a mean difference of `worth` with this chance, if differences on problems spread as
    these do: (z + z')^2 variance / worth^2. The spread contains the noise of the samples of each problem.
    """
    normal = NormalDist()
    z = normal.inv_cdf((1 + level) / 2) + normal.inv_cdf(power)
    return max(LEAST_PROBLEMS, math.ceil(z**2 * float(np.var(of_problems, ddof=1)) / worth**2))


def sign_flip(of_seeds: Sequence[float]) -> float:
    """The chance of a mean as far from 0 as that of these differences, on either side, if every sign were a coin's: all
    2^S ways are tried. `sign_flip([1, 1, 1, 1, 1, 1])` is 2 / 64.
    """
    values = np.asarray(of_seeds, dtype=np.float64)
    if values.ndim != 1 or len(values) < LEAST_SEEDS:
        raise DataError(
            f"the sign-flip test of {values.size} paired seeds cannot fall below 0.05 on both sides, whatever they "
            f"show: train with {LEAST_SEEDS} seeds at least."
        )
    if len(values) > MOST_SEEDS:
        raise DataError(f"the sign-flip test tries all signs of {MOST_SEEDS} seeds at most, not of {len(values)}.")
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums + value, sums - value])
    slack = 1e-12 * float(np.abs(values).sum())  # equal sums differ by rounding
    return float((np.abs(sums) >= abs(values.sum()) - slack).mean())


def reported(judged: Judgement, *, null: Interval | None, truncated: tuple[float, float]) -> Judgement:
    """The verdict as a report may print it: INCONCLUSIVE where the null is missing, that is the same comparison between
    two banks of one checkpoint, or where the shares of `truncated` answers of both sides differ by more than two
    points.
    """
    first, other = truncated
    if null is None:
        return _downgraded(judged, "no null was measured: compare two banks of one checkpoint in the same way")
    if abs(first - other) > TRUNCATED + 1e-12:
        return _downgraded(
            judged, f"{first:.1%} and {other:.1%} of the answers were truncated: raise the limit for both sides"
        )
    return judged


def _downgraded(judged: Judgement, reason: str) -> Judgement:
    return dataclasses.replace(judged, word="INCONCLUSIVE", reason=f"{reason} (else {judged.word}: {judged.reason})")
