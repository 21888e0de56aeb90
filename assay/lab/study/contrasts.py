"""What a study expects of two of its arms, written down before anything runs, and what became of it.

A measure is `pass@K` of the exam after training, `length` of its answers, `tokens to S`, the tokens that a run
generates until its held-out score during training is S, or else a metric of training, as its mean over the run.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from assay.errors import DataError
from assay.lab.seeds import ALPHA
from assay.lab.study.plan import Expected, Study
from assay.lab.study.results import Result
from assay.scoring.inference import Effect, effect, effect_of_seeds, holm
from assay.scoring.passk import pass_at_k

_PASS = re.compile(r"pass@([1-9][0-9]*)")
_TOKENS_TO = re.compile(r"tokens to (0?\.[0-9]+)")


@dataclass(frozen=True)
class Seen:
    """What became of something that was expected: how one arm differs from another in a measure, paired by seed."""

    expected: Expected
    task: str
    means: tuple[float, float]  # of the arm and of the one beside it
    difference: Effect | None  # over seeds, of pass@K over problems too; None with one seed alone
    agreeing: int  # seeds in which it moved as expected
    seeds: int
    p: float | None = None  # corrected for all that is judged together

    @property
    def verdict(self) -> str:
        """`as expected` is a difference of at least the size that was said, in the direction that was said."""
        if self.difference is None or self.p is None or self.p >= ALPHA:
            return "undecided"
        signed = self.difference.mean if self.expected.moves == "up" else -self.difference.mean
        if signed < 0:
            return "the opposite"
        return "as expected" if signed >= self.expected.least else "smaller than expected"


def seen(study: Study, results: Sequence[Result]) -> tuple[Seen, ...]:
    """Everything that the study expects and of which both arms have a seed, not yet judged."""
    return tuple(
        one
        for task in study.tasks
        for expected in study.expected
        if expected.task in ("", task)
        if (one := _seen(expected, task, [result for result in results if result.task == task])) is not None
    )


def judged(found: Sequence[Seen]) -> list[Seen]:
    """All that was declared with a smallest size, as one family with Holm's correction; the rest as it is."""
    family = [one for one in found if one.expected.least and one.difference is not None]
    chances = iter(holm([one.difference.p for one in family if one.difference is not None]))
    return [dataclasses.replace(one, p=next(chances)) if one in family else one for one in found]


def _seen(expected: Expected, task: str, results: Sequence[Result]) -> Seen | None:
    of = {arm: {r.seed: r for r in results if r.arm == arm} for arm in (expected.arm, expected.against)}
    measure = measure_of(expected.metric)
    values = [
        {seed: value for seed, result in found.items() if (value := measure(result)) is not None}
        for found in of.values()
    ]
    seeds = sorted(values[0].keys() & values[1].keys())
    if not seeds:
        return None
    pairs = np.array([[one[seed] for seed in seeds] for one in values])
    differences = pairs[0] - pairs[1]
    agreeing = int((differences > 0).sum() if expected.moves == "up" else (differences < 0).sum())
    found = _effect(expected, [[of[arm][seed] for seed in seeds] for arm in of], differences)
    return Seen(expected, task, (float(pairs[0].mean()), float(pairs[1].mean())), found, agreeing, len(seeds))


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


def _effect(expected: Expected, runs: Sequence[Sequence[Result]], differences: np.ndarray) -> Effect | None:
    if len(differences) < 2:
        return None
    if (match := _PASS.fullmatch(expected.metric)) and (paired := _paired(runs, int(match[1]))) is not None:
        return effect(paired)
    return effect_of_seeds(differences.tolist())


def _paired(runs: Sequence[Sequence[Result]], k: int) -> np.ndarray | None:
    """float[S, M]: differences of pass@k for each seed and problem; None where exams kept means alone."""
    counts = [[_counts(result) for result in side] for side in runs]
    every = [of for side in counts for of in side]
    shared = [problem for problem in every[0] if all(of.get(problem, (0, 0))[0] >= k for of in every)]
    if len(shared) < 2:
        return None
    table = np.array([[[of[problem] for problem in shared] for of in side] for side in counts])  # sides, S, M, 2
    passed = [[pass_at_k(of[:, 0], of[:, 1], k=k) for of in side] for side in table]
    return np.array(passed[0]) - np.array(passed[1])


def _counts(result: Result) -> dict[str, tuple[int, int]]:
    """Problem -> (valid samples, right ones), of the exam after training."""
    exam = result.after
    return {} if exam is None else dict(zip(exam.problems, zip(exam.n, exam.right, strict=True), strict=True))


def check(expected: Expected, tasks: Sequence[str]) -> None:
    """Refuses what can never be judged."""
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
