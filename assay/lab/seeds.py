"""Runs that differ in their seed alone are runs of one method. Methods are compared over seeds and problems at once."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.record import RunFolder
from assay.scoring.bank import Bank
from assay.scoring.inference import Effect, effect, effect_of_seeds, holm, seeds_needed
from assay.tasks import short

Json = Mapping[str, Any]

ALPHA = 0.05
WORTH = 0.02  # the smallest difference of pass@1 worth knowing
WHOLE = "the whole exam"  # in the place of a problem, where nothing is known of single ones
NO_MATTER = ("seed", "machine", "saving", "tracking")  # settings of an experiment that are no part of its method


@dataclass(frozen=True)
class Method:
    """The runs of one method on one task, and how it differs from the first method on this task."""

    label: str
    task: str
    runs: tuple[str, ...]
    seeds: tuple[int, ...]
    final: dict[str, float] | None  # mean, low, high of the final pass@1 over seeds and problems
    difference: dict[str, float] | None  # likewise, paired by seed and problem
    p: float | None  # of the difference, corrected for the number of methods
    p_equal: float | None  # of one larger than `WORTH`, likewise: small where the methods are equally good
    verdict: str  # first, higher, lower, equal, undecided, or the reason why there is no difference
    seeds_needed: int | None  # that would show a difference of `WORTH` in four of five studies


@dataclass(frozen=True)
class Examined:
    """The final evaluations of a method's runs.

    Examined({0: {"problem": 0.5}}, frozenset({("test", 22, 1.0)}))
    """

    scores: Mapping[int, Mapping[str, float]]  # seed -> problem -> share of right answers; or `WHOLE` -> their mean
    asked: frozenset[tuple[Any, ...]]  # set, length and temperature of each


@dataclass(frozen=True)
class Claim:
    """How a method differs from the first, or the reason why nothing can be said. `judged` corrects p for the number of
    claims that are made at once, and says the verdict.
    """

    effect: Effect | None = None
    seeds_needed: int | None = None
    reason: str = ""
    p: float | None = None
    p_equal: float | None = None

    @property
    def verdict(self) -> str:
        if self.effect is None or self.p is None or self.p_equal is None:
            return self.reason
        if self.p < ALPHA:
            return "higher" if self.effect.mean > 0 else "lower"
        if self.p_equal < ALPHA:
            return f"equal within {WORTH}"
        return f"undecided; {self.needed}"

    @property
    def needed(self) -> str:
        """What would show a difference of `WORTH`: more seeds, or more problems where these many seeds are enough."""
        enough = self.effect is not None and self.seeds_needed is not None and self.seeds_needed <= self.effect.seeds
        return f"more problems would show {WORTH}" if enough else f"{self.seeds_needed} seeds would show {WORTH}"


def judged(claims: Sequence[Claim]) -> list[Claim]:
    """The claims with Holm's correction over all of them that have an effect."""
    effects = [claim.effect for claim in claims if claim.effect]
    chances = iter(zip(holm([one.p for one in effects]), holm([one.p_within(WORTH) for one in effects]), strict=True))
    return [
        dataclasses.replace(claim, **dict(zip(("p", "p_equal"), next(chances), strict=True))) if claim.effect else claim
        for claim in claims
    ]


def methods(runs: Sequence[RunFolder], finals: Sequence[Json | None]) -> tuple[Method, ...]:
    """The methods of these runs with their final evaluations, in the order of their first runs; none if no method has
    two seeds, because then nothing can be said of methods.
    """
    groups = _groups(runs)
    if all(len(places) == 1 for places in groups):
        return ()
    examined = [_examined([(_seed(runs[place]), finals[place]) for place in places]) for places in groups]
    tasks = [task_of(runs[places[0]]) for places in groups]
    firsts = [tasks.index(task) for task in tasks]
    claims = judged(
        [
            Claim(reason="first") if first == place else claim_of(examined[first], examined[place])
            for place, first in enumerate(firsts)
        ]
    )
    return tuple(
        Method(
            label=name,
            task=task,
            runs=tuple(str(runs[place].path) for place in places),
            seeds=tuple(_seed(runs[place]) for place in places),
            final=bounds(mean_of(own)),
            difference=bounds(claim.effect),
            p=claim.p,
            p_equal=claim.p_equal,
            verdict=claim.verdict,
            seeds_needed=claim.seeds_needed,
        )
        for name, task, places, own, claim in zip(_names(groups, runs), tasks, groups, examined, claims, strict=True)
    )


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


def _names(groups: Sequence[Sequence[int]], runs: Sequence[RunFolder]) -> list[str]:
    """The names of the recipes; where two methods on a task have one recipe, with the folder of their first run."""
    found = [(recipe_of(runs[places[0]]), task_of(runs[places[0]])) for places in groups]
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


def _examined(finals: Sequence[tuple[int, Json | None]]) -> Examined:
    scores, asked = {}, set()
    for seed, final in finals:
        if final is not None and "bank" in final:
            bank = Bank.from_json(final["bank"])
            scores[seed] = shares(bank.problems, bank.n, bank.correct)
            asked.add((final["set"], bank.max_new, bank.temperature))
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
    return _effect(_table(list(examined.scores.values())), whole=_is_whole(examined))


def _effect(values: np.ndarray, *, whole: bool) -> Effect | None:
    if whole and values.shape[0] >= 2 and values.shape[1] == 1:
        return effect_of_seeds(values[:, 0].tolist())
    return effect(values) if min(values.shape) >= 2 else None


def _is_whole(examined: Examined) -> bool:
    return any(WHOLE in scores for scores in examined.scores.values())


def claim_of(first: Examined, other: Examined) -> Claim:
    """The difference `other` - `first`, paired by seed and problem, before any correction."""
    if len(first.asked | other.asked) > 1:
        return Claim(reason="evaluated with other sets, lengths or temperatures")
    seeds = sorted(first.scores.keys() & other.scores.keys())
    if len(seeds) < 2:
        return Claim(reason=f"shared seeds: {len(seeds)}; at least two are needed")
    both = _table([*(first.scores[seed] for seed in seeds), *(other.scores[seed] for seed in seeds)])
    differences = both[len(seeds) :] - both[: len(seeds)]
    found = _effect(differences, whole=_is_whole(first) and _is_whole(other))
    if found is None:
        return Claim(reason="no shared problems")
    return Claim(found, seeds_needed(differences.mean(1).tolist(), WORTH))


def bounds(found: Effect | None) -> dict[str, float] | None:
    return None if found is None else {"mean": found.mean, "low": found.low, "high": found.high}
