"""The expectations of a study about two of its arms, written down before anything runs, and their outcomes.

A measure is one of these: `pass@K` of the exam after training; `length` of its answers; `tokens to S`, the tokens that
a run generates until its held-out score during training is S; a metric of training, as its mean over the run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.errors import DataError
from assay.lab.study.apart import apart
from assay.lab.study.guesses import Guesses
from assay.lab.study.plan import Expected, Study
from assay.lab.study.results import Exam, Result
from assay.scoring.bank import RESAMPLING
from assay.scoring.conclusion import WORTH, Conclusion, Estimate, Stated, conclude
from assay.scoring.inference import Effect, Few, effect, effect_of_seeds
from assay.scoring.intervals import DIFFERENCES, OverProblems, over_problems
from assay.scoring.passk import pass_at_k

_PASS = re.compile(r"pass@([1-9][0-9]*)")
_TOKENS_TO = re.compile(r"tokens to (0?\.[0-9]+)")


@dataclass(frozen=True)
class Seen:
    """The outcome of an expectation: how one arm differs from another in a measure, paired by seed."""

    expected: Expected
    task: str
    means: tuple[float, float]  # of the arm and of the one beside it
    conclusion: Conclusion  # of the difference, over seeds, of pass@K over problems too
    agreeing: int  # seeds in which it moved as expected
    seeds: int
    apart: tuple[str, ...]  # everything in which the recipes of the two differ


def seen(study: Study, results: Sequence[Result], guesses: Guesses) -> tuple[Seen, ...]:
    """The outcomes of the study's expectations whose two arms share a seed, each decided as one of its family."""
    return tuple(
        one
        for task in study.tasks
        for expected in study.expected
        if expected.task in ("", task)
        if (one := _seen(study, expected, task, [run for run in results if run.task == task], guesses.get(task, {})))
        is not None
    )


def _seen(
    study: Study, expected: Expected, task: str, results: Sequence[Result], guessed: Mapping[int, float]
) -> Seen | None:
    of = {arm: {r.seed: r for r in results if r.arm == arm} for arm in (expected.arm, expected.against)}
    measure = measure_of(expected.metric)
    values = [
        {seed: value for seed, result in by_seed.items() if (value := measure(result)) is not None}
        for by_seed in of.values()
    ]
    seeds = sorted(values[0].keys() & values[1].keys())
    if not seeds:
        return None
    pairs = np.array([[scores[seed] for seed in seeds] for scores in values])
    differences = pairs[0] - pairs[1]
    agreeing = int((differences > 0).sum() if expected.moves == "up" else (differences < 0).sum())
    measured = _effect(expected, [[of[arm][seed] for seed in seeds] for arm in of], differences)
    means = float(pairs[0].mean()), float(pairs[1].mean())
    match = _PASS.fullmatch(expected.metric)
    void = guessable(int(match[1]), means, guessed) if match else ""
    conclusion = conclude(measured, stated_of(expected), study.family, void=void)
    differ = apart(study, task, expected.arm, expected.against)
    return Seen(expected, task, means, conclusion, agreeing, len(seeds), differ)


def guessable(k: int, passes: Sequence[float], guessed: Mapping[int, float]) -> str:
    """Why pass@k of these models is no evidence: one of them is no better at k samples than a blind guesser. '' where
    it is evidence: at one sample, which shows a model that lost its skill, and where a guesser has nothing.
    """
    if k == 1 or not guessed.get(k) or min(passes) > guessed[k]:
        return ""
    return f"a blind guesser has {guessed[k]:.3f} at {k}"


def stated_of(expected: Expected) -> Stated:
    """The claim about the difference. Only shares of right answers have a smallest effect worth knowing."""
    worth = WORTH if _PASS.fullmatch(expected.metric) else 0.0
    return Stated(worth, expected.moves, expected.least or None)


def measure_of(name: str) -> Callable[[Result], float | None]:
    """The measure of this name: (result) -> its value, None where the run has none."""
    if match := _PASS.fullmatch(name):
        k = int(match[1])
        return lambda result: None if result.after is None else result.after.passes.get(k)
    if match := _TOKENS_TO.fullmatch(name):
        return lambda result: tokens_to(result, float(match[1]))
    if name == "length":
        return lambda result: None if result.after is None else result.after.length
    return lambda result: result.means.get(name)


def tokens_to(result: Result, score: float) -> float | None:
    """The tokens after which the held-out score is first this high, between two exams on the line between them. A run
    that does not come there counts with all its tokens, fewer than it would need.
    """
    if not result.curve:
        return None
    below: tuple[float, float] | None = None
    for _, tokens, reached in result.curve:
        if reached >= score:
            if below is None:
                return tokens
            return below[0] + (tokens - below[0]) * (score - below[1]) / (reached - below[1])
        below = tokens, reached
    return result.tokens


def _effect(expected: Expected, runs: Sequence[Sequence[Result]], differences: np.ndarray) -> Estimate:
    if len(differences) < 2:
        return Few(float(differences.mean()), len(differences))
    if (match := _PASS.fullmatch(expected.metric)) is None:
        return effect_of_seeds(differences.tolist())
    k, sides = int(match[1]), [[result.after for result in side] for side in runs]
    return differences_at(sides[1], sides[0], k) or effect_of_seeds(differences.tolist(), bounds=DIFFERENCES)


def differences_at(first: Sequence[Exam | None], other: Sequence[Exam | None], k: int) -> Effect | None:
    """The differences of pass@k, `other` - `first`, of exams paired by seed, and by problem too; None where exams kept
    means alone, or have fewer than k samples of two problems.
    """
    counts = [[_counts(exam) for exam in side] for side in (other, first)]
    every = [of for side in counts for of in side]
    shared = [problem for problem in every[0] if all(of.get(problem, (0, 0))[0] >= k for of in every)]
    if len(shared) < 2 or len(first) < 2:
        return None
    table = np.array([[[of[problem] for problem in shared] for of in side] for side in counts])  # sides, S, M, 2
    passed = [[pass_at_k(of[:, 0], of[:, 1], k=k) for of in side] for side in table]
    return effect(np.array(passed[0]) - np.array(passed[1]), bounds=DIFFERENCES)


def over_problems_at(before: Exam | None, after: Exam | None, k: int) -> OverProblems | None:
    """How one checkpoint's pass@k differs from another's over the problems of both exams: nothing is said of seeds."""
    one, two = _counts(before), _counts(after)
    shared = [problem for problem in one if min(one[problem][0], two.get(problem, (0, 0))[0]) >= k]
    if not shared:
        return None
    tables = [np.array([of[problem] for problem in shared]) for of in (one, two)]
    first, then = (pass_at_k(table[:, 0], table[:, 1], k=k) for table in tables)
    return over_problems((then - first)[:, None], RESAMPLING, bounds=DIFFERENCES)[0]


def _counts(exam: Exam | None) -> dict[str, tuple[int, int]]:
    """Problem -> (valid samples, right ones)."""
    return {} if exam is None else dict(zip(exam.problems, zip(exam.n, exam.right, strict=True), strict=True))


def check(expected: Expected, tasks: Sequence[str]) -> None:
    """Refuses an expectation that can never be decided."""
    if expected.task and expected.task not in tasks:
        raise DataError(f"something is expected on {expected.task}, which is no task of the study: {', '.join(tasks)}.")
    if not 0 <= expected.least < float("inf"):
        raise DataError(f"the smallest effect is a number of 0 or more, not {expected.least}.")
    if expected.metric.startswith(("pass@", "tokens to")) and not (
        _PASS.fullmatch(expected.metric) or _TOKENS_TO.fullmatch(expected.metric)
    ):
        raise DataError(
            f'no measure "{expected.metric}": write pass@64, tokens to 0.4, length or a metric of training.'
        )
