"""The reach of a trained model beyond its base: measures over the counts of two banks on the same problems.

Legend: M problems; a bank has n[M] samples of each, of which c[M] were right; p is the chance of a right sample, so
that k samples all miss with the chance (1 - p)^k. Its unbiased estimate for k <= n is C(n - c, k) / C(n, k): `misses`.
Products of such estimates for two halves of one bank are estimates for the whole bank, (1 - p)^j (1 - p)^k = (1 -
p)^(j + k), so that nothing here splits a bank by chance: every split-half quantity is its mean over all splits.

Sources: 2504.13837 (crossing curves), 2507.14843 (support), 2510.11653 (zero sets), 2506.13923 (compression and gain).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.errors import DataError
from assay.rng import Key
from assay.scoring.bank import Bank, common
from assay.scoring.bayes import fit_beta

MULTIPLES = 2.0 ** (1 / 8)  # between the k of a curve, from `DENSE` on
DENSE = 64  # every k up to this one is on a curve


@dataclass(frozen=True, eq=False)
class Counts:
    """How often each problem was answered, and how often rightly.

    Counts(np.array([64, 64]), np.array([3, 0]))
    """

    n: np.ndarray  # int64[M]
    c: np.ndarray  # int64[M]

    def __post_init__(self) -> None:
        n, c = np.asarray(self.n, dtype=np.int64), np.asarray(self.c, dtype=np.int64)
        if n.shape != c.shape or n.ndim != 1 or not len(n):
            raise DataError(f"counts are two lists of equal length, not of shapes {n.shape} and {c.shape}.")
        if (c < 0).any() or (c > n).any() or (n < 1).any():
            raise DataError("a problem has no sample, or more right answers than samples.")
        object.__setattr__(self, "n", n)
        object.__setattr__(self, "c", c)

    def __len__(self) -> int:
        return len(self.n)

    @property
    def samples(self) -> int:
        """The fewest samples of a problem."""
        return int(self.n.min())

    def select(self, rows: np.ndarray) -> Counts:
        return Counts(self.n[rows], self.c[rows])


def counts_of(base: Bank, child: Bank) -> tuple[Counts, Counts]:
    """The counts of two banks on the problems with verdicts in both, in one order."""
    base, child = common(*(bank.select(np.flatnonzero(bank.n > 0)) for bank in (base, child)))
    return Counts(base.n, base.correct), Counts(child.n, child.correct)


def require_pair(base: Counts, child: Counts) -> None:
    if len(base) != len(child):
        raise DataError(f"base and child are compared on the same problems, not on {len(base)} and {len(child)}.")


# Chances of many misses


@dataclass(frozen=True)
class Beta:
    """A distribution of chances over problems.

    Beta(0.3, 1.5).misses(4)  # the mean of (1 - p)^4
    """

    a: float
    b: float

    def misses(self, k: float) -> float:
        """E (1 - p)^k = Gamma(b + k) Gamma(a + b) / (Gamma(b) Gamma(a + b + k))."""
        a, b = self.a, self.b
        return math.exp(math.lgamma(b + k) - math.lgamma(b) + math.lgamma(a + b) - math.lgamma(a + b + k))

    def given(self, n: int, c: int) -> Beta:
        """The distribution of a problem's chance once c of its n samples were right."""
        return Beta(self.a + c, self.b + n - c)


def beta_of(counts: Counts) -> Beta:
    """The Beta distribution of chances under which these counts are likeliest (`assay.scoring.bayes.fit_beta`)."""
    return Beta(*fit_beta(counts.n, counts.c))


def misses(counts: Counts, ks: Sequence[int], *, prior: Beta | None = None) -> np.ndarray:
    """float[M, K]: estimates of (1 - p)^k. They are unbiased where all problems have k samples. For more than
    that they are extrapolated by `prior`, which is the fit of these counts unless given.
    """
    least, values = counts.samples, np.empty((len(counts), len(ks)))
    wrong, product = counts.n - counts.c, np.ones(len(counts))
    places: dict[int, list[int]] = {}
    for column, k in enumerate(ks):
        places.setdefault(k, []).append(column)
    for j in range(min(max(ks), least)):  # C(n - c, k) / C(n, k), a factor in [0, 1] at a time
        product = product * np.maximum(wrong - j, 0) / (counts.n - j)
        for column in places.get(j + 1, ()):
            values[:, column] = product
    if beyond := [column for column, k in enumerate(ks) if k > least]:
        prior = beta_of(counts) if prior is None else prior
        pairs, where = np.unique(np.stack([counts.n, counts.c]), axis=1, return_inverse=True)
        posteriors = [prior.given(int(n), int(c)) for n, c in pairs.T]
        for column in beyond:
            values[:, column] = np.array([posterior.misses(ks[column]) for posterior in posteriors])[where.ravel()]
    return values


def grid(most: int) -> list[int]:
    """The k of a curve: all up to 64, and eight in a doubling from there to `most`."""
    ks = list(range(1, min(most, DENSE) + 1))
    while ks[-1] < most:
        ks.append(min(most, math.ceil(ks[-1] * MULTIPLES)))
    return ks


# Measures


def crossover(base: Counts, child: Counts) -> float:
    """The least k from which on pass@k of the child is at most that of the base, up to the samples of both; between
    two k by log2 k. Infinite without such a k: beyond what the samples show.
    """
    require_pair(base, child)
    ks = list(range(1, min(base.samples, child.samples) + 1))
    ahead = (misses(base, ks) - misses(child, ks)).mean(axis=0)
    return crossing_of(ks, ahead)


def crossover_bounds(base: Counts, child: Counts, key: Key, *, draws: int = 2000) -> tuple[float, float]:
    """The 95 % interval of the crossover over problems, by resampling them; a bound is infinite where it lies beyond
    what the samples show.
    """
    require_pair(base, child)
    ks = list(range(1, min(base.samples, child.samples) + 1))
    ahead = misses(base, ks) - misses(child, ks)
    generator = key("crossover", len(base), draws).generator()
    weights = generator.multinomial(len(base), np.full(len(base), 1 / len(base)), size=draws) / len(base)
    found = np.sort([crossing_of(ks, row) for row in weights @ ahead])
    return float(found[math.floor(0.025 * (draws - 1))]), float(found[math.ceil(0.975 * (draws - 1))])


def crossing_of(ks: Sequence[int], ahead: np.ndarray) -> float:
    """The k at which the differences `ahead` fall to 0 and stay there; infinite if they do not."""
    above = np.flatnonzero(ahead > 1e-12)
    if not len(above):
        return float(ks[0])
    last = int(above[-1])
    if last == len(ks) - 1:
        return math.inf
    share = ahead[last] / (ahead[last] - min(ahead[last + 1], 0.0))
    return float(2 ** (math.log2(ks[last]) + share * (math.log2(ks[last + 1]) - math.log2(ks[last]))))


def multiplier(base: Counts, child: Counts, k: int = 1) -> float:
    """c(k) = k'/k, where pass@k' of the base is pass@k of the child: how many samples of the base one of the child is
    worth. The best of four samples is worth four. Infinite if all samples of the base do not suffice.
    """
    require_pair(base, child)
    target = 1.0 - float(misses(child, [k]).mean())
    ks = grid(base.samples)
    return matched(ks, 1.0 - misses(base, ks).mean(axis=0), target) / k


def matched(ks: Sequence[int], curve: np.ndarray, target: float) -> float:
    """The k at which a curve of pass@k reaches `target`, between two k by log2 k; below pass@1 in proportion."""
    slack = 1e-12
    if target <= curve[0] + slack:
        return float(target / curve[0]) if curve[0] > 0 else 1.0
    if target > curve[-1] + slack:
        return math.inf
    return float(2 ** np.interp(target, curve, np.log2(ks)))


@dataclass(frozen=True)
class Support:
    """On how many problems base and child have a right answer among k samples: expected counts over all draws of k.

    `null` is the count that two banks of the base itself would show as gained, and as lost. Ratios without a
    denominator are None.
    """

    k: int
    both: float  # P
    gained: float  # E, the child alone
    lost: float  # S, the base alone
    neither: float  # O
    null: float

    @property
    def expansion(self) -> float:
        """E' = E - null."""
        return self.gained - self.null

    @property
    def shrinkage(self) -> float:
        """S' = S - null."""
        return self.lost - self.null

    @property
    def retention(self) -> float | None:
        """SRR = P / (P + S), the share of the base's problems that the child kept."""
        return _ratio(self.both, self.both + self.lost)

    @property
    def discovery(self) -> float | None:
        """NDR = E / (P + E), the share of the child's problems that are new."""
        return _ratio(self.gained, self.both + self.gained)

    @property
    def net_change(self) -> float | None:
        """NSCR = (E - S) / (P + E + S)."""
        return _ratio(self.gained - self.lost, self.both + self.gained + self.lost)


def _ratio(over: float, under: float) -> float | None:
    return over / under if under > 0 else None


def support(base: Counts, child: Counts, k: int) -> Support:
    """Kept, gained and lost problems at k samples each, and the null: sum (1 - p)^k (1 - (1 - p)^k) over the base, for
    which it needs 2k samples.
    """
    require_pair(base, child)
    if base.samples < 2 * k:
        raise DataError(
            f"the null of {k} samples compares two halves of the base's bank: it needs {2 * k} samples of every "
            f"problem, not {base.samples}. Draw more, or take k <= {base.samples // 2}."
        )
    before, twice = misses(base, [k, 2 * k]).T
    after = misses(child, [k])[:, 0]
    return Support(
        k=k,
        both=float(((1 - before) * (1 - after)).sum()),
        gained=float((before * (1 - after)).sum()),
        lost=float(((1 - before) * after).sum()),
        neither=float((before * after).sum()),
        null=float((before - twice).sum()),
    )


@dataclass(frozen=True)
class Decomposition:
    """A change of pass@1, split into problems that the base solved in k samples and those that it did not.

    decompose(base, child, 64).gain_share  # of what the child gained, how much lies where the base had nothing
    """

    k: int
    distilled: float  # SD_k, on problems that k samples of the base solved
    gained: float  # CG_k, on the others
    compression: float | None  # rho_k: the gain over that of the base's pass@k; above 1 only with new problems

    @property
    def change(self) -> float:
        return self.distilled + self.gained

    @property
    def distilled_share(self) -> float | None:
        return _ratio(self.distilled, self.change)

    @property
    def gain_share(self) -> float | None:
        return None if self.distilled_share is None else 1.0 - self.distilled_share


def decompose(base: Counts, child: Counts, k: int) -> Decomposition:
    """Splits the change of pass@1. k samples of the base say which problems it solves, its other samples how often, so
    that no problem seems to be gained because it was chosen for a zero: given a zero among k, all c right ones are
    others.
    """
    require_pair(base, child)
    if base.samples <= k:
        raise DataError(
            f"the base has {base.samples} samples of a problem: {k} of them choose, and none is left to say how often "
            f"it is right. Take k < {base.samples}."
        )
    before, after = base.c / base.n, child.c / child.n
    unsolved = misses(base, [k])[:, 0]
    gained = float((unsolved * (after - base.c / (base.n - k))).mean())
    change = float((after - before).mean())
    room = float((1.0 - unsolved).mean() - before.mean())
    return Decomposition(k, change - gained, gained, _ratio(change, room))


@dataclass(frozen=True)
class Expansion:
    """Of the problems that n samples of the base did not solve: the share that the child solves, and the share that
    more samples of the base would solve.

    expansion(base, child, n=64, times=4.0).above
    """

    problems: float  # of the zero set, expected
    rate: float  # ER: the share of them that n samples of the child solve
    floor: float  # the share that times x n fresh samples of the base would solve
    extrapolated: bool  # whether the floor goes beyond the samples of the base

    @property
    def above(self) -> float:
        return self.rate - self.floor


def expansion(base: Counts, child: Counts, *, n: int, times: float = 1.0) -> Expansion:
    """The expansion rate on the zero set of n samples of the base, and its floor at `times` x n fresh ones:
    sum (1 - p)^n (1 - (1 - p)^(times n)) / sum (1 - p)^n. Beyond the bank the chances are extrapolated (beta-binomial).
    """
    require_pair(base, child)
    ks = [n, max(n + 1, round(n * (1 + times)))]
    zero, still = misses(base, ks).T
    solved = 1.0 - misses(child, [n])[:, 0]
    if not (size := float(zero.sum())):
        raise DataError(f"the base solves every problem within {n} samples: there is no zero set. Take harder ones.")
    rate, floor = float((zero * solved).sum()) / size, (size - float(still.sum())) / size
    return Expansion(size, rate, floor, extrapolated=ks[1] > base.samples)
