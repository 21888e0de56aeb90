"""Runs that differ in their seed alone are runs of one method. Methods are compared over seeds and problems at once."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from assay.record import RunFolder
from assay.scoring.conclusion import Conclusion, Estimate, Family, Stated, Word, conclude
from assay.scoring.inference import Bounds, Effect, Few, effect, effect_of_seeds
from assay.scoring.intervals import DIFFERENCES, SHARES, Interval
from assay.tasks import short
from assay.view.judged import judged

Json = Mapping[str, Any]

WHOLE = "the whole exam"  # in the place of a problem, where nothing is known of single ones
NO_MATTER = ("seed", "machine", "saving", "tracking")  # settings of an experiment that are no part of its method


@dataclass(frozen=True)
class Method:
    """The runs of one method on one task, and how it differs from the first method on this task."""

    label: str
    task: str
    runs: tuple[str, ...]
    seeds: tuple[int, ...]
    judge: str | None  # who found the answers right; None where the runs were not judged by one judge
    final: dict[str, float] | None  # mean, low, high of the final pass@1 over seeds and problems
    difference: dict[str, float] | None  # paired by seed and problem; all of a family hold together at 95 %
    p: float | None  # of the word, corrected for the family
    word: Word | None  # None of the first method, and where there is no difference
    verdict: str  # the word with what it lacks; "first", or the reason why there is no difference
    family: str  # the differences that are decided together
    others: Mapping[str, dict[str, float] | None] = field(default_factory=dict)  # `final` by each further judge


@dataclass(frozen=True)
class Examined:
    """The final evaluations of a method's runs.

    Examined({0: {"problem": 0.5}}, frozenset({("test", 22, 1.0, "verifier")}))
    """

    scores: Mapping[int, Mapping[str, float]]  # seed -> problem -> share of right answers; or `WHOLE` -> their mean
    asked: frozenset[tuple[Any, ...]]  # set, length, temperature and judge of each


@dataclass(frozen=True)
class Claim:
    """How a method differs from the first, or the reason why nothing can be said."""

    effect: Estimate | None = None
    reason: str = ""
    conclusion: Conclusion | None = None  # once it is decided

    @property
    def word(self) -> Word | None:
        return self.conclusion and self.conclusion.word

    @property
    def verdict(self) -> str:
        return self.reason if self.conclusion is None else str(self.conclusion)

    @property
    def p(self) -> float | None:
        return self.conclusion and self.conclusion.p

    @property
    def difference(self) -> dict[str, float] | None:
        """The difference with an interval that holds together with those of its family."""
        return None if self.conclusion is None else as_dict(self.conclusion.found)

    def concluded(self, family: Family) -> Claim:
        """The claim with its conclusion as one of this family."""
        if self.effect is None:
            return self
        return dataclasses.replace(self, conclusion=conclude(self.effect, Stated(), family))


FIRST = Claim(reason="first")


def methods(
    runs: Sequence[RunFolder], finals: Sequence[Json | None], named: Sequence[str] | None = None
) -> tuple[Method, ...]:
    """The methods of these runs with their final evaluations, in the order of their first runs; none if no method has
    two seeds, because then nothing can be said of methods. `named` are the tasks of the runs, by default as each run
    names its own.
    """
    groups = _groups(runs)
    if all(len(places) == 1 for places in groups):
        return ()
    scores = [[(runs[index], finals[index]) for index in places] for places in groups]
    examined = [_examined(group) for group in scores]
    named = named or [task_of(run) for run in runs]
    tasks = [named[places[0]] for places in groups]
    firsts = [tasks.index(task) for task in tasks]
    family = Family("differences from the first method of a task", len(groups) - len(set(firsts)))
    claims = [
        FIRST if first == index else claim_of(examined[first], examined[index]).concluded(family)
        for index, first in enumerate(firsts)
    ]
    return tuple(
        Method(
            label=name,
            task=task,
            runs=tuple(str(runs[index].path) for index in places),
            seeds=tuple(_seed(runs[index]) for index in places),
            judge=_judge(own),
            final=as_dict(mean_of(own)),
            difference=claim.difference,
            p=claim.p,
            word=claim.word,
            verdict=claim.verdict,
            family=str(family),
            others={judge: as_dict(mean_of(_examined(group, judge))) for judge in _further(group)},
        )
        for name, task, places, group, own, claim in zip(
            _names(groups, runs, tasks), tasks, groups, scores, examined, claims, strict=True
        )
    )


def _judge(examined: Examined) -> str | None:
    judges = {judge for *_, judge, _ in examined.asked}
    return judges.pop() if len(judges) == 1 else None


def _further(group: Sequence[tuple[RunFolder, Json | None]]) -> list[str]:
    """The judges of these exams behind the first."""
    return list(dict.fromkeys(one.judge for run, final in group if final for one in judged(final, run.document)[1:]))


def _groups(runs: Sequence[RunFolder]) -> list[list[int]]:
    """The places of the runs of each method. Runs of one experiment and one seed are no seeds of a method, but the same
    thing twice; they stay apart, and so does a run that does not say its experiment.
    """
    members: dict[str, list[int]] = {}
    for place, run in enumerate(runs):
        experiment = run.document.get("experiment")
        own = {k: v for k, v in experiment.items() if k not in NO_MATTER} if isinstance(experiment, Mapping) else place
        members.setdefault(json.dumps(own, sort_keys=True), []).append(place)
    result = []
    for places in members.values():
        apart = len({_seed(runs[place]) for place in places}) < len(places)
        result += [[place] for place in places] if apart else [places]
    return sorted(result)


def _names(groups: Sequence[Sequence[int]], runs: Sequence[RunFolder], tasks: Sequence[str]) -> list[str]:
    """The names of the recipes; where two methods on a task have one recipe, with the folder of their first run."""
    found = [(recipe_of(runs[places[0]]), task) for places, task in zip(groups, tasks, strict=True)]
    return [
        name if found.count((name, task)) == 1 and name else f"{name} {runs[places[0]].path.name}".strip()
        for (name, task), places in zip(found, groups, strict=True)
    ]


def recipe_of(run: RunFolder) -> str:
    """The name of a run's recipe; empty if the run does not say it."""
    recipe = run.document.get("recipe", "")
    return str(recipe.get("name", "")) if isinstance(recipe, Mapping) else str(recipe)


def task_of(run: RunFolder) -> str:
    """The tasks of a run with their levels, `countdown:3,4`; empty if the run does not say them."""
    experiment = run.document.get("experiment")
    pool = experiment.get("pool") if isinstance(experiment, Mapping) else None
    shares = pool.get("shares", []) if isinstance(pool, Mapping) else []
    return " ".join(
        short(str(share["task"])) + (f":{','.join(map(str, share['levels']))}" if share.get("levels") else "")
        for share in shares
    )


def _seed(run: RunFolder) -> int:
    experiment = run.document.get("experiment")
    return int(experiment.get("seed", 0)) if isinstance(experiment, Mapping) else 0


def _examined(finals: Sequence[tuple[RunFolder, Json | None]], by: str | None = None) -> Examined:
    """The final exams by the judge `by`, or each by its first judge."""
    scores, asked = {}, set()
    for run, final in finals:
        judges = judged(final, run.document) if final is not None else []
        one = next((one for one in judges if one.bank is not None and by in (None, one.judge)), None)
        if final is not None and one is not None and one.bank is not None:
            scores[_seed(run)] = shares(one.bank.problems, one.bank.n, one.bank.correct)
            asked.add((final["set"], one.bank.max_new, one.bank.temperature, one.judge, one.digest))
    return Examined(scores, frozenset(asked))


def _table(scores: Sequence[Mapping[str, float]]) -> np.ndarray:
    """float[seeds, problems] on the problems that all of them have, in one order."""
    shared = sorted(set.intersection(*(set(one) for one in scores))) if scores else []
    return np.array([[one[problem] for problem in shared] for one in scores]).reshape(len(scores), len(shared))


def shares(problems: Sequence[str], n: Iterable[int], right: Iterable[int]) -> dict[str, float]:
    """Problem -> the share of its valid samples that were right; a problem without any has none."""
    return {problem: c / count for problem, count, c in zip(problems, n, right, strict=True) if count}


def mean_of(examined: Examined) -> Effect | None:
    """The mean score with its interval over seeds and problems; None with fewer than two of either."""
    return _effect(_table(list(examined.scores.values())), whole=_is_whole(examined), bounds=SHARES)


def _effect(values: np.ndarray, *, whole: bool, bounds: Bounds) -> Effect | None:
    if whole and values.shape[0] >= 2 and values.shape[1] == 1:
        return effect_of_seeds(values[:, 0].tolist(), bounds=bounds)
    return effect(values, bounds=bounds) if min(values.shape) >= 2 else None


def _is_whole(examined: Examined) -> bool:
    return any(WHOLE in scores for scores in examined.scores.values())


def claim_of(first: Examined, other: Examined) -> Claim:
    """The difference `other` - `first`, paired by seed and problem, not yet decided."""
    if len(first.asked | other.asked) > 1:
        return Claim(reason="evaluated with other sets, lengths, temperatures or judges")
    seeds = sorted(first.scores.keys() & other.scores.keys())
    both = _table([*(first.scores[seed] for seed in seeds), *(other.scores[seed] for seed in seeds)])
    differences = both[len(seeds) :] - both[: len(seeds)]
    if len(seeds) < 2:
        return Claim(Few(float(differences.mean()) if differences.size else math.nan, len(seeds)))
    found = _effect(differences, whole=_is_whole(first) and _is_whole(other), bounds=DIFFERENCES)
    return Claim(reason="no shared problems") if found is None else Claim(found)


def as_dict(found: Effect | Interval | None) -> dict[str, float] | None:
    """Mean, low and high, as far as they are known."""
    if found is None or math.isnan(found.mean):
        return None
    known = {"mean": found.mean, "low": found.low, "high": found.high}
    return {name: value for name, value in known.items() if not math.isnan(value)}
