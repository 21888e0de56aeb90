"""The gate's A/A check: one recipe against itself, trained with twelve seeds, must not be called better or worse."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from assay.lab.claims.card import Finding, Work, key_of
from assay.lab.seeds import shares
from assay.lab.study.plan import Arm, Budget, Study, tasks_of
from assay.lab.study.queue import fill
from assay.lab.study.results import Result
from assay.scoring.conclusion import WORTH, Conclusion, Family, Stated, conclude
from assay.scoring.inference import Effect, effect
from assay.scoring.intervals import DIFFERENCES

TASK = "countdown:3,4"
STUDY = Study(
    arms={"grpo": Arm("grpo")},
    tasks=tasks_of([TASK]),
    seeds=tuple(range(12)),
    budget=Budget("steps", 20),
    settings={"evaluation.every": "0"},
)
FAMILY = Family("differences", 1)
SPLITS = 1000  # ways to pair the seeds, of the 10,395 x 64 that there are
MOST = 0.10  # of these may be significant at 5 %: twice the nominal share, since all splits are of the same twelve runs


def repeats_agree(
    work: Work,
    *,
    study: Study = STUDY,
    conclude: Callable[..., Conclusion] = conclude,
    effect: Callable[..., Effect] = effect,
    splits: int = SPLITS,
) -> Finding:
    """Seeds 0, 2, 4 ... against 1, 3, 5 ..., and then many other ways to pair them, beside the nominal rate."""
    results = fill(study, work.folder / "repeats", tell=lambda line: work.tell(f"  {line}"))
    scores = scores_of(list(results.values()))
    return agreement(scores, conclude=conclude, effect=effect, splits=splits)


def scores_of(results: Sequence[Result]) -> np.ndarray:
    """float[S, M], the share of right answers of each seed on each problem with a verdict in all of them."""
    exams = [result.after for result in sorted(results, key=lambda one: one.seed) if result.after is not None]
    of = [shares(exam.problems, exam.n, exam.right) for exam in exams]
    shared = sorted(set.intersection(*(set(one) for one in of)))
    return np.array([[one[problem] for problem in shared] for one in of])


def agreement(
    scores: np.ndarray,
    *,
    conclude: Callable[..., Conclusion],
    effect: Callable[..., Effect],
    splits: int = SPLITS,
) -> Finding:
    """The finding on runs of one method, given as float[S, M], that are compared as if they were of two."""

    def concluded(values: np.ndarray) -> Conclusion:
        return conclude(effect(values, bounds=DIFFERENCES), Stated(WORTH), FAMILY)

    declared = scores[1::2] - scores[0::2]
    conclusion, mirrored = concluded(declared), concluded(-declared)
    key, significant = key_of("repeats"), 0
    for split in range(splits):
        order = key(split).generator().permutation(len(scores))
        significant += 0.0 not in effect(scores[order[1::2]] - scores[order[0::2]]).within(FAMILY.level)
    share = significant / splits
    spread = float(declared.mean(axis=1).std(ddof=1))
    came = (
        f"{len(declared)} pairs: {conclusion.numbers}, {conclusion.word}; {share:.1%} of {splits} splits differ at "
        f"5 %; differences of pairs spread by {spread:.3f}"
    )
    figures = {
        "difference": conclusion.found.mean,
        "low": conclusion.found.low,
        "high": conclusion.found.high,
        "significant splits": share,
        "spread of pairs": spread,
        "mean": float(scores.mean()),
    }
    called = {conclusion.word, mirrored.word} & {"BETTER", "WORSE"}
    return Finding(came, not called and share <= MOST, figures)
