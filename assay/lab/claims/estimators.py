"""The gate's checks of estimators, tests and verdicts, by simulation: no model is needed, and the truth is a formula.

Each function takes the instrument that it tries as an argument, so that a broken one can be seen to fail.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence

import numpy as np

from assay.lab.claims.card import Finding, Work, at_most, key_of
from assay.rng import Key
from assay.scoring.boundary import Beta
from assay.scoring.conclusion import ALPHA, WORTH, Conclusion, Family, Stated, conclude
from assay.scoring.inference import Effect, effect, effect_of_seeds
from assay.scoring.intervals import DIFFERENCES, Interval, Needed, OverProblems, intervals, over_problems
from assay.scoring.passk import pass_at_k

CHANCES = Beta(0.3, 1.5)  # of right samples over problems: many hard ones, few easy ones
PROBLEMS, SAMPLES, KS = 200, (32, 64, 256), (1, 8, 32)
COVERED = (0.93, 0.97)  # in which the share of 95 % intervals that hold the truth must lie
NAIVE = 0.15  # false claims of a test that takes samples for units: more than these show that the units matter
SPREAD, SEEDS, EXAM, TRIES = 0.02, 6, 256, 16  # of the differences of seeds; seeds, problems and samples of a study
SEED_COUNTS = (3, 5, 6, 9)
FAMILY_SEEDS, FAMILY_EXAM = (5, 6, 7, 9), 128
FAMILY_ERROR = 0.055  # families with a false word, at most
POWER = (0.77, 0.90)  # in which "four of five studies" must lie

Estimator = Callable[..., np.ndarray]
Intervals = Callable[..., list[Interval]]
Conclude = Callable[..., Conclusion]


def plug_in(n: np.ndarray, c: np.ndarray, *, k: int) -> np.ndarray:
    """1 - (1 - c/n)^k, which is too low on average, because (1 - p)^k is convex in p."""
    return 1.0 - (1.0 - c / n) ** k


def passes_unbiased(work: Work, *, estimator: Estimator = pass_at_k, replications: int = 2000) -> Finding:
    """pass@k over simulated banks beside its true mean 1 - E (1 - p)^k; the plug-in must be seen to be too low."""
    generator = key_of("pass-at-k").generator()
    figures: dict[str, float] = {}
    worst, plug = 0.0, 0.0
    for n in SAMPLES:
        p = generator.beta(CHANCES.a, CHANCES.b, (replications, PROBLEMS))
        c, of_all = generator.binomial(n, p).ravel(), np.full(p.size, n)
        for k in KS:
            truth = 1.0 - CHANCES.misses(k)
            z = _errors_off(estimator(of_all, c, k=k).reshape(p.shape).mean(axis=1), truth)
            figures[f"z of n={n} k={k}"] = z
            worst = max(worst, abs(z))
            if n == k == 32:
                plug = _errors_off(plug_in(of_all, c, k=k).reshape(p.shape).mean(axis=1), truth)
    figures["z of the plug-in"] = plug
    came = f"at most {worst:.1f} standard errors off in {len(SAMPLES) * len(KS)} cases; the plug-in {plug:+.0f}"
    return Finding(came, worst < 3 and plug < -3, figures)


def _errors_off(means: np.ndarray, truth: float) -> float:
    return float((means.mean() - truth) / (means.std(ddof=1) / math.sqrt(len(means))))


def problem_intervals_cover(work: Work, *, intervals: Intervals = intervals, replications: int = 2000) -> Finding:
    """The bootstrap over problems on simulated banks: 200 problems (quantiles) at each n, and 100 (bias-corrected)."""
    key, figures = key_of("intervals-over-problems"), {}
    for problems, n in [*((PROBLEMS, n) for n in SAMPLES), (PROBLEMS // 2, 64)]:
        inside = np.zeros(len(KS))
        for r in range(replications):
            branch = key(problems, n, r)
            generator = branch.generator()
            c = generator.binomial(n, generator.beta(CHANCES.a, CHANCES.b, problems))
            of_all = np.full(problems, n)
            values = np.stack([pass_at_k(of_all, c, k=k) for k in KS], axis=1)
            computed = intervals(values, branch, draws=1000)
            inside += [1.0 - CHANCES.misses(k) in interval for k, interval in zip(KS, computed, strict=True)]
        for k, share in zip(KS, inside / replications, strict=True):
            figures[f"M={problems} n={n} k={k}"] = float(share)
    return _covered(figures)


def _covered(figures: dict[str, float]) -> Finding:
    low, high = min(figures.values()), max(figures.values())
    outside = [name for name, share in figures.items() if not COVERED[0] <= share <= COVERED[1]]
    more = f"; outside: {', '.join(outside)}" if outside else ""
    return Finding(f"{low:.1%} to {high:.1%} in {len(figures)} cases{more}", not outside, figures)


@dataclasses.dataclass(frozen=True)
class Studies:
    """Simulated studies of two methods: differences of shares of right answers, paired by seed and problem.

    Problems differ in their chances, methods in what they find hard, and the difference of seed s by a normal number
    with the standard deviation `spread`.
    """

    shift: float = 0.0  # how much better the second method is
    seeds: int = SEEDS
    problems: int = EXAM
    samples: int = TRIES
    spread: float = SPREAD

    def drawn(self, key: Key) -> tuple[np.ndarray, np.ndarray]:
        """int[S, M] right answers of the first method, and of the second."""
        generator = key.generator()
        ease = generator.beta(3.0, 5.0, self.problems)
        liking = generator.normal(0.0, 0.05, self.problems)
        seed = generator.normal(0.0, self.spread / math.sqrt(2), (2, self.seeds, 1))
        chances = np.clip([ease + seed[0], ease + liking + self.shift + seed[1]], 0.0, 1.0)
        right = generator.binomial(self.samples, chances)
        return right[0], right[1]

    def differences(self, key: Key) -> np.ndarray:
        """float[S, M]"""
        first, second = self.drawn(key)
        return (second - first) / self.samples


def seed_intervals_cover(
    work: Work, *, effect: Callable[[np.ndarray], Effect] = effect, replications: int = 2000
) -> Finding:
    """Effects over crossed seeds and problems of two methods that are equal on average."""
    key, figures = key_of("intervals-over-seeds"), {}
    for seeds in SEED_COUNTS:
        found = [effect(Studies(seeds=seeds).differences(key(seeds, r))) for r in range(replications)]
        figures[f"S={seeds}"] = float(np.mean([one.low <= 0.0 <= one.high for one in found]))
    return _covered(figures)


def families_hold(
    work: Work, *, conclude: Conclude = conclude, arms: Sequence[int] = (3, 9, 22), replications: int = 600
) -> Finding:
    """Studies whose arms do not differ: how many of them call any arm better or worse than the first, and how often a
    test that takes all samples for units does so.
    """
    key, figures, pooled = key_of("families"), dict[str, float](), 0
    for seeds in FAMILY_SEEDS:
        for size in arms:
            false, family = 0, Family("differences", size - 1)
            for r in range(replications):
                counts = _alike(key(seeds, size, r), size, seeds)
                differences = (counts[1:] - counts[0]) / TRIES
                words = [
                    conclude(effect(difference, bounds=DIFFERENCES), Stated(), family).word
                    for difference in differences
                ]
                false += any(word in ("BETTER", "WORSE") for word in words)
                pooled += size == min(arms) and _unpaired_p(counts[0], counts[1], TRIES) < ALPHA
            figures[f"{seeds} seeds, {size} arms"] = false / replications
    naive = pooled / replications / len(FAMILY_SEEDS)
    worst = max(figures.values())
    came = f"a false word in {worst:.1%} of families at most; a test of pooled samples errs in {naive:.0%} of pairs"
    return Finding(came, worst <= FAMILY_ERROR and naive > NAIVE, figures | {"pooled samples": naive})


def _alike(key: Key, arms: int, seeds: int) -> np.ndarray:
    """int[arms, S, M] right answers of methods that are equal on average: each is better at other problems."""
    generator = key.generator()
    ease = generator.beta(3.0, 5.0, FAMILY_EXAM)
    liking = generator.normal(0.0, 0.05, (arms, 1, FAMILY_EXAM))
    of_seed = generator.normal(0.0, SPREAD / math.sqrt(2), (arms, seeds, 1))
    return generator.binomial(TRIES, np.clip(ease + liking + of_seed, 0.0, 1.0))


def equality_errs_seldom(work: Work, *, conclude: Conclude = conclude, replications: int = 2000) -> Finding:
    """How often EQUAL is said if the true difference is just as large as is worth knowing, and if there is none."""
    key, found, family = key_of("no-difference"), dict[str, float](), Family("differences", 1)
    for name, study in (("false", Studies(WORTH)), ("true", Studies(0.0, seeds=12, spread=SPREAD / 2))):
        effects = [effect(study.differences(key(name, r)), bounds=DIFFERENCES) for r in range(replications)]
        found[name] = sum(conclude(one, Stated(), family).word == "EQUAL" for one in effects) / replications
    came = f"said falsely in {found['false']:.1%}, and rightly in {found['true']:.1%} with 12 even seeds"
    return Finding(came, at_most(found["false"], ALPHA, replications) and found["true"] > 0.5, found)


def _unpaired_p(first: np.ndarray, second: np.ndarray, samples: int) -> float:
    """The p of two shares whose samples are all taken for independent."""
    size = first.size * samples
    one, other = first.sum() / size, second.sum() / size
    error = math.sqrt((one * (1 - one) + other * (1 - other)) / size)
    return math.erfc(abs(one - other) / error / math.sqrt(2))


def power_is_as_promised(
    work: Work,
    *,
    of_seeds: Callable[[Effect, float, float], Needed | None] = Effect.needed,
    of_problems: Callable[[OverProblems, float, float], Needed | None] = OverProblems.needed,
    replications: int = 1000,
) -> Finding:
    """The share of studies that show a difference, with the number of seeds, or of problems, that should show it in
    four of five. The studies make one comparison, or twenty.
    """
    key, figures = key_of("power"), dict[str, float]()
    for size in (1, 20):
        level = Family("differences", size).level
        for worth in (0.02, 0.03):
            assumed = effect_of_seeds([SPREAD / math.sqrt(2), -SPREAD / math.sqrt(2)])
            seeds = getattr(of_seeds(assumed, worth, level), "seeds", None) or 2
            shown = 0
            for r in range(replications):
                drawn = key("seeds", size, worth, r).generator().normal(worth, SPREAD, seeds)
                shown += effect_of_seeds(drawn.tolist()).within(level).low > 0
            figures[f"{seeds} seeds for {worth:g}, one of {size}"] = shown / replications
        gain, chance = 0.03, 0.08  # differences of -1, 0 and 1 with the variance 0.08
        values = np.array([1.0, -1.0]) * math.sqrt(chance / 2)
        assumed_problems = OverProblems(values, np.empty(0), DIFFERENCES)
        problems = getattr(of_problems(assumed_problems, gain, level), "problems", None) or 2
        shown = 0
        for r in range(replications):
            up, branch = (chance + gain**2 + gain) / 2, key("problems", size, r)
            steps = branch.generator().choice([1.0, -1.0, 0.0], problems, p=[up, up - gain, 1 + gain - 2 * up])
            shown += over_problems(steps[:, None], branch, draws=2000, bounds=DIFFERENCES)[0].within(level).low > 0
        figures[f"{problems} problems for {gain:g}, one of {size}"] = shown / replications
    came = ", ".join(f"{share:.0%} with {name}" for name, share in figures.items())
    return Finding(came, all(POWER[0] <= share <= POWER[1] for share in figures.values()), figures)
