"""What a study says: each arm's score on each task, its difference from the first arm, and one sentence about it all.

Differences are paired by seed and problem, and hold for new seeds and problems (`assay.scoring.inference`); verdicts
are corrected for all differences of the study at once (Holm).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.lab.seeds import WHOLE, WORTH, Claim, Examined, bounds, claim_of, judged, mean_of, shares
from assay.lab.study import contrasts
from assay.lab.study.contrasts import Seen
from assay.lab.study.plan import Run, Study
from assay.lab.study.results import Exam, Result
from assay.scoring.inference import Effect, effect, effect_of_seeds
from assay.scoring.passk import pass_at_k
from assay.view.text import change, listed

Json = dict[str, Any]
Bounds = dict[str, float]
NAMED = 9  # arms of one verdict that the conclusion names, at most
UNEVEN = 0.1  # budgets that differ by more than this share are said


@dataclass(frozen=True)
class Cell:
    """An arm on a task: what its runs came to."""

    arm: str
    task: str
    seeds: tuple[int, ...]
    rate: float  # the factor of the learning rate that the trials chose
    before: Bounds | None
    after: Bounds | None  # the score that is compared
    gain: Bounds | None  # after - before, paired by seed and problem
    passes: Mapping[int, Bounds]  # k -> pass@k after training
    claim: Claim
    spent: Mapping[str, float]  # means over the seeds
    seconds: float  # of all seeds
    entropy: float | None  # at the end
    length: float | None
    collapsed: Mapping[int, int | None]  # of the seeds that were examined while they trained: the step of a collapse


@dataclass(frozen=True)
class Findings:
    """Everything that a report of a study shows.

    findings = analyse(study, results)
    print(findings.conclusion)
    """

    study: Study
    results: Mapping[Run, Result]
    cells: tuple[Cell, ...]
    seen: tuple[Seen, ...]
    missing: int  # runs that are not done
    conclusion: str
    notes: tuple[str, ...]

    def cell(self, arm: str, task: str) -> Cell:
        return next(cell for cell in self.cells if (cell.arm, cell.task) == (arm, task))

    def of(self, arm: str, task: str) -> list[Result]:
        """The results of an arm on a task."""
        return [result for run, result in self.results.items() if (run.arm, run.task) == (arm, task)]


def analyse(study: Study, results: Mapping[Run, Result]) -> Findings:
    """The findings of the runs that are done. Seeds that an arm lacks are left out where it is compared."""
    places = [(arm, task) for task in study.tasks for arm in study.arms]
    of = {place: [r for run, r in results.items() if (run.arm, run.task) == place] for place in places}
    first = next(iter(study.arms))
    examined = {(arm, task): found for task in study.tasks for arm, found in _after(study, task, of).items()}
    claims = judged(
        [
            Claim(reason="first") if arm == first else claim_of(examined[first, task], examined[arm, task])
            for arm, task in places
        ]
    )
    cells = tuple(
        _cell(arm, task, of[arm, task], _before(study, of[arm, task]), examined[arm, task], claim)
        for (arm, task), claim in zip(places, claims, strict=True)
    )
    missing = len(places) * len(study.seeds) - len(results)
    seen = tuple(contrasts.judged(contrasts.seen(study, list(results.values()))))
    notes = _notes(study, results, cells)
    return Findings(study, results, cells, seen, missing, _conclusion(study, cells, missing), notes)


def _after(study: Study, task: str, of: Mapping[tuple[str, str], Sequence[Result]]) -> dict[str, Examined]:
    """The scores of each arm on a task that the study compares."""
    if study.scores == "exam":
        return {arm: _of_exams([(r.seed, r.after) for r in of[arm, task]], of[arm, task]) for arm in study.arms}
    ends: dict[int, list[float]] = {}
    for result in (result for arm in study.arms for result in of[arm, task] if result.curve):
        ends.setdefault(result.seed, []).append(result.curve[-1][1])
    return {
        arm: _of_curves({r.seed: held_out(r, min(ends[r.seed])) for r in of[arm, task] if r.curve}, of[arm, task])
        for arm in study.arms
    }


def _before(study: Study, results: Sequence[Result]) -> Examined:
    """The scores of the same kind before training."""
    if study.scores == "exam":
        return _of_exams([(r.seed, r.before) for r in results], results)
    return _of_curves({r.seed: r.curve[0][2] for r in results if r.curve}, results)


def _of_curves(scores: Mapping[int, float], results: Sequence[Result]) -> Examined:
    return Examined({seed: {WHOLE: score} for seed, score in scores.items()}, frozenset(r.asked for r in results))


def held_out(result: Result, tokens: float) -> float:
    """The held-out score where so many tokens were generated, between two exams on the line between them."""
    return float(np.interp(tokens, [point[1] for point in result.curve], [point[2] for point in result.curve]))


def _of_exams(exams: Iterable[tuple[int, Exam | None]], results: Sequence[Result]) -> Examined:
    scores = {
        seed: shares(exam.problems, exam.n, exam.right) if exam.problems else {WHOLE: exam.passes[1]}
        for seed, exam in exams
        if exam is not None
    }
    return Examined(scores, frozenset(result.asked for result in results))


def _cell(arm: str, task: str, results: Sequence[Result], before: Examined, after: Examined, claim: Claim) -> Cell:
    names = sorted({name for result in results for name in result.spent})
    return Cell(
        arm=arm,
        task=task,
        seeds=tuple(result.seed for result in results),
        rate=results[0].rate if results else 1.0,
        before=_mean(before),
        after=_mean(after),
        gain=bounds(claim_of(before, after).effect),
        passes=_passes([result.after for result in results if result.after is not None]),
        claim=claim,
        spent={name: float(np.mean([result.spent.get(name, 0.0) for result in results])) for name in names},
        seconds=math.fsum(result.seconds for result in results),
        entropy=_last(results, "entropy"),
        length=_last(results, "length"),
        collapsed={result.seed: result.collapsed for result in results if result.watched},
    )


def _mean(examined: Examined) -> Bounds | None:
    """The mean with its interval; alone where one seed is done, of which nothing more can be said."""
    if len(examined.scores) != 1:
        return bounds(mean_of(examined))
    (scores,) = examined.scores.values()
    return {"mean": float(np.mean(list(scores.values())))} if scores else None


def _passes(exams: Sequence[Exam]) -> dict[int, Bounds]:
    """pass@k after training over the problems that all seeds have; over the seeds alone where only means were kept."""
    if len(exams) < 2:
        return {}
    ks = [k for k in exams[0].passes if all(k in exam.passes for exam in exams)]
    if not all(exam.problems for exam in exams):
        return {k: _known(effect_of_seeds([exam.passes[k] for exam in exams])) for k in ks}
    counts = [dict(zip(exam.problems, zip(exam.n, exam.right), strict=True)) for exam in exams]
    shared = [problem for problem in exams[0].problems if all(problem in of and of[problem][0] for of in counts)]
    if len(shared) < 2:
        return {}
    n, right = (np.array([[of[problem][i] for problem in shared] for of in counts]) for i in (0, 1))
    return {
        k: _known(effect(np.array([pass_at_k(*pair, k=k) for pair in zip(n, right, strict=True)])))
        for k in ks
        if k <= n.min()
    }


def _known(found: Effect) -> Bounds:
    return {"mean": found.mean, "low": found.low, "high": found.high}


def _last(results: Sequence[Result], name: str) -> float | None:
    values = [series[-1][1] for result in results if (series := result.series.get(name))]
    return float(np.mean(values)) if values else None


def _conclusion(study: Study, cells: Sequence[Cell], missing: int) -> str:
    """One honest sentence for each task."""
    first, said = next(iter(study.arms)), []
    for task in study.tasks:
        here = [cell for cell in cells if cell.task == task and cell.arm != first]
        parts = []
        for verdict, words in (("higher", "better"), ("lower", "worse")):
            found = [cell for cell in here if cell.claim.verdict == verdict and cell.claim.effect]
            found.sort(key=lambda cell: -abs(cell.claim.effect.mean if cell.claim.effect else 0.0))
            named = [f"{cell.arm} ({change(bounds(cell.claim.effect))})" for cell in found]
            parts += [f"{_few(named)} {'is' if len(named) == 1 else 'are'} {words} than {first}"] if named else []
        equal = [c.arm for c in here if c.claim.verdict.startswith("equal")]
        if equal:
            parts.append(f"{_few(equal)} {'is' if len(equal) == 1 else 'are'} as good as {first} within {WORTH}")
        open_ = [c for c in here if c.claim.verdict.startswith("undecided")]
        if open_:
            most = max((cell.claim for cell in open_), key=lambda claim: claim.seeds_needed or 0)
            parts.append(f"nothing can be said of {_few([c.arm for c in open_])} ({most.needed})")
        silent = [c.arm for c in here if c.claim.effect is None]
        parts += [f"{_few(silent)} could not be compared"] if silent else []
        said.append(f"On {task}, {', and '.join(parts)}.")
    unfinished = f" {missing} runs are not done yet." if missing else ""
    return " ".join(said) + unfinished


def _few(names: Sequence[str]) -> str:
    """The names, or of many the first and how many more there are."""
    return listed(names if len(names) <= NAMED else [*names[: NAMED - 1], f"{len(names) - NAMED + 1} more"])


def _notes(study: Study, results: Mapping[Run, Result], cells: Sequence[Cell]) -> tuple[str, ...]:
    """What a reader must know to trust the numbers."""
    compared = max(0, len(cells) - len(study.tasks))
    notes = [
        f"{len(study.seeds)} seeds; every run may spend {study.budget}. Intervals are 95 %, over seeds and problems; "
        f"differences are paired by both, and verdicts corrected for all {compared} of them."
    ]
    if study.scores == "equal-tokens":
        notes.append(
            "Scores are those of held-out problems during training, where all runs of a seed have generated as many "
            "tokens as the one that ends first; intervals are over seeds alone."
        )
    elif any(exam and not exam.problems for result in results.values() for exam in (result.before, result.after)):
        notes.append("Of some exams only the mean is known: their intervals are over seeds alone.")
    if study.trials:
        rates = ", ".join(f"{rate:g}" for rate in study.trials)
        chosen = ", ".join(f"{cell.arm} on {cell.task}: {cell.rate:g}" for cell in cells)
        notes.append(
            f"Each arm's learning rate was the best of {rates} times its own, by a seed not shown here: {chosen}."
        )
    else:
        notes.append("Learning rates are those of the recipes: nobody tuned them, for no arm.")
    notes += [f"{arm} may spend {study.budget_of(arm)}." for arm in study.arms if study.arms[arm].budget]
    for task in study.tasks:
        spent = {c.arm: c.spent.get("generated_tokens", 0.0) for c in cells if c.task == task and c.seeds}
        spent = {arm: tokens for arm, tokens in spent.items() if tokens}
        if study.scores == "exam" and spent and max(spent.values()) > (1 + UNEVEN) * min(spent.values()):
            most, least = max(spent, key=spent.__getitem__), min(spent, key=spent.__getitem__)
            notes.append(
                f"On {task}, {most} generated {spent[most]:,.0f} tokens a run and {least} {spent[least]:,.0f}: read "
                "their curves at the same tokens."
            )
    if machines := sorted({result.machine for result in results.values() if result.machine}):
        notes.append(f"Run on {listed(machines)}.")
    marks = sorted({result.code for result in results.values()})
    if len(marks) > 1:
        notes.append(f"Runs of different code stand beside each other ({', '.join(marks)}); --again repeats the older.")
    if study.differ:
        notes.append(f"Arms differ, as the study declares, in {', '.join(study.differ)}.")
    notes += [f"{arm} takes no part: {reason}" for arm, reason in study.left_out.items()]
    notes += [f"{name}: {arm.note}" for name, arm in study.arms.items() if arm.note]
    return (*notes, *study.notes)


def as_json(findings: Findings) -> Json:
    return {
        "arms": list(findings.study.arms),
        "tasks": list(findings.study.tasks),
        "seeds": list(findings.study.seeds),
        "budget": str(findings.study.budget),
        "conclusion": findings.conclusion,
        "notes": list(findings.notes),
        "missing": findings.missing,
        "cells": [_cell_json(cell) for cell in findings.cells],
        "expected": [
            {**vars(one.expected), "task": one.task, "means": one.means, "difference": bounds(one.difference)}
            | {"agreeing": one.agreeing, "seeds": one.seeds, "p": one.p, "verdict": one.verdict}
            for one in findings.seen
        ],
    }


def _cell_json(cell: Cell) -> Json:
    about = {k: v for k, v in vars(cell).items() if k not in ("claim", "passes")}
    claim = {
        "difference": bounds(cell.claim.effect),
        "p": cell.claim.p,
        "p_equal": cell.claim.p_equal,
        "verdict": cell.claim.verdict,
        "seeds_needed": cell.claim.seeds_needed,
    }
    return {**about, "pass": {str(k): v for k, v in cell.passes.items()}, **claim}
