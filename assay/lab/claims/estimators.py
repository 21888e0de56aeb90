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
from assay.scoring.inference import Effect, effect, holm, seeds_needed, student_p
from assay.scoring.intervals import Interval, intervals, paired
from assay.scoring.passk import pass_at_k
from assay.scoring.verdict import Judgement, of_methods, problems_needed

CHANCES = Beta(0.3, 1.5)  # of right samples over problems: many hard ones, few easy ones
PROBLEMS, SAMPLES, KS = 200, (32, 64, 256), (1, 8, 32)
COVERED = (0.93, 0.97)  # in which the share of 95 % intervals that hold the truth must lie
ALPHA = 0.05
NAIVE = 0.15  # false claims of a test that takes samples for units: more than these show that the units matter
SPREAD, SEEDS, EXAM, TRIES = 0.02, 6, 256, 16  # of the differences of seeds; seeds, problems and samples of a study
WORTH = 0.02
SEED_COUNTS = (3, 5, 6, 9)
POWER = (0.77, 0.90)  # in which "four of five studies" must lie

Estimator = Callable[..., np.ndarray]
Intervals = Callable[..., list[Interval]]


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
            found = intervals(values, branch, draws=1000)
            inside += [1.0 - CHANCES.misses(k) in one for k, one in zip(KS, found, strict=True)]
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

    shift: float = 0.0  # what the second method is better by
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
    work: Work, *, correct: Callable[[Sequence[float]], list[float]] = holm, replications: int = 4000
) -> Finding:
    """Five claims at once, of which two are true: how often any of the three others is made.

    The correction itself is tried with exact p, of normal differences of seeds (Student's t), where it must keep to
    5 %; then with those of `effect`, which may err as often as its intervals may miss, in 7 %.
    """
    key, exact, ours, naive = key_of("families"), 0, 0, 0
    shifts = (0.0, 0.0, 0.0, 0.1, 0.1)
    for r in range(replications):
        seeds = key("exact", r).generator().normal(np.array(shifts)[:, None], SPREAD, (len(shifts), SEEDS))
        t = seeds.mean(axis=1) / (seeds.std(axis=1, ddof=1) / math.sqrt(SEEDS))
        exact += min(correct([student_p(float(one), SEEDS - 1) for one in t])[:3]) < ALPHA
        chances = [effect(Studies(shift).differences(key(r, i))).p for i, shift in enumerate(shifts)]
        ours += min(correct(chances)[:3]) < ALPHA
        naive += min(chances[:3]) < ALPHA
    names = ("exact p", "p over seeds and problems", "uncorrected")
    figures = {name: count / replications for name, count in zip(names, (exact, ours, naive), strict=True)}
    came = f"a false claim in {', '.join(f'{share:.1%} ({name})' for name, share in figures.items())}"
    holds = at_most(figures["exact p"], ALPHA, replications) and figures[names[1]] <= 1 - COVERED[0]
    return Finding(came, holds, figures)


Judge = Callable[..., Judgement]


def equality_errs_seldom(work: Work, *, judge: Judge = of_methods, replications: int = 2000) -> Finding:
    """Claims of no difference where the true one is just as large as is worth knowing, and where there is none."""
    key, found = key_of("no-difference"), {}
    for name, study in (("false", Studies(WORTH)), ("true", Studies(0.0, seeds=12, spread=SPREAD / 2))):
        judged = [judge(study.differences(key(name, r)), WORTH, "equality").word for r in range(replications)]
        found[name] = judged.count("SUPPORTED") / replications
    came = f"claimed falsely in {found['false']:.1%}, and rightly in {found['true']:.1%} with 12 even seeds"
    return Finding(came, at_most(found["false"], ALPHA, replications) and found["true"] > 0.5, found)


def verdicts_err_seldom(work: Work, *, judge: Judge = of_methods, replications: int = 2000) -> Finding:
    """How often two methods are called different, by the rule and by a test that takes all samples for units."""
    key, figures, naive = key_of("verdicts"), {}, 0
    signs = 0
    for shift in (0.0, WORTH, 2 * WORTH):
        study, supported = Studies(shift), 0
        for r in range(replications):
            first, second = study.drawn(key(shift, r))
            judged = judge((second - first) / study.samples, WORTH)
            supported += judged.word == "SUPPORTED"
            if not shift:
                naive += _unpaired_p(first, second, study.samples) < ALPHA
                signs += judged.p is not None and judged.p < ALPHA
        figures[f"SUPPORTED at {shift:g}"] = supported / replications
    figures |= {"naive at 0": naive / replications, "signs at 0": signs / replications}
    false, wrong = figures["SUPPORTED at 0"], figures["naive at 0"]
    right, twice = figures[f"SUPPORTED at {WORTH:g}"], figures[f"SUPPORTED at {2 * WORTH:g}"]
    came = (
        f"SUPPORTED falsely in {false:.1%}, at {WORTH:g} in {right:.0%}, at {2 * WORTH:g} in {twice:.0%}; "
        f"signs alone err in {figures['signs at 0']:.1%}; a test of pooled samples in {wrong:.0%}"
    )
    sure = at_most(false, ALPHA, replications) and at_most(figures["signs at 0"], ALPHA, replications)
    return Finding(came, sure and wrong > NAIVE, figures)


def _unpaired_p(first: np.ndarray, second: np.ndarray, samples: int) -> float:
    """The p of two shares whose samples are all taken for independent."""
    size = first.size * samples
    one, other = first.sum() / size, second.sum() / size
    error = math.sqrt((one * (1 - one) + other * (1 - other)) / size)
    return math.erfc(abs(one - other) / error / math.sqrt(2))


def power_is_as_promised(
    work: Work,
    *,
    of_seeds: Callable[..., int] = seeds_needed,
    of_problems: Callable[..., int] = problems_needed,
    replications: int = 1000,
) -> Finding:
    """The numbers of seeds and of problems that should show a difference in four of five studies, in such studies."""
    key, figures = key_of("power"), {}
    for worth in (0.02, 0.03):
        seeds = of_seeds((np.array([1.0, -1.0]) * SPREAD / math.sqrt(2)).tolist(), worth)
        shown = 0
        for r in range(replications):
            of_seed = key("seeds", worth, r).generator().normal(worth, SPREAD, seeds)
            shown += effect(np.repeat(of_seed[:, None], 2, axis=1)).low > 0
        figures[f"{seeds} seeds for {worth:g}"] = shown / replications
    gain, chance = 0.03, 0.08  # differences of -1, 0 and 1 with the variance 0.08
    problems = of_problems(np.array([1.0, -1.0]) * math.sqrt(chance / 2), gain)
    shown, none = 0, np.zeros(problems)
    for r in range(replications):
        up = (chance + gain**2 + gain) / 2
        steps = key("problems", r).generator().choice([1.0, -1.0, 0.0], problems, p=[up, up - gain, 1 + gain - 2 * up])
        shown += paired(none, steps, key(r), draws=500).low > 0
    figures[f"{problems} problems for {gain:g}"] = shown / replications
    came = ", ".join(f"{share:.0%} with {name}" for name, share in figures.items())
    return Finding(came, all(POWER[0] <= share <= POWER[1] for share in figures.values()), figures)
