"""Findings of a study: each arm's score on each task, its difference from the first arm, and one sentence about it all.

Differences are paired by seed and problem, and hold for new seeds and problems (`assay.scoring.inference`). The
hypotheses of a study, its arms' differences and its expectations, are one family (`assay.scoring.conclusion`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from assay.lab.seeds import FIRST, WHOLE, Claim, Examined, as_dict, claim_of, mean_of, shares
from assay.lab.study import contrasts
from assay.lab.study.contrasts import Seen
from assay.lab.study.guesses import Guesses
from assay.lab.study.plan import Study, StudyRun
from assay.lab.study.results import Exam, Result
from assay.run.settings import full
from assay.scoring.conclusion import LEAST_SEEDS, WORTH, Conclusion, Family, Stated, conclude
from assay.scoring.inference import Effect, effect, effect_of_seeds
from assay.scoring.intervals import LEVEL, SHARES
from assay.scoring.passk import pass_at_k
from assay.view.judged import VERIFIER, YOUR
from assay.view.text import change, listed

Json = dict[str, Any]
Bounds = dict[str, float]
NO_GUESSES: Guesses = {}
NAMED = 9  # arms of one verdict that the conclusion names, at most
RATE = "recipe.scale.learning_rate"
UNEVEN = 0.1  # budgets that differ by more than this share are said


@dataclass(frozen=True)
class Cell:
    """The findings of one arm on one task."""

    arm: str
    task: str
    seeds: tuple[int, ...]
    rate: float  # the factor of the learning rate that the trials chose
    before: Bounds | None
    after: Bounds | None  # the score that is compared
    gain: Bounds | None  # after - before, paired by seed and problem
    passes: Mapping[int, Bounds]  # k -> pass@k after training
    changes: Mapping[int, Conclusion]  # k -> how pass@k differs from the base's, for the least and the largest k
    beyond: Mapping[int, Conclusion]  # likewise from that of the base with worked examples before each question
    claim: Claim
    spent: Mapping[str, float]  # means over the seeds
    seconds: float  # of all seeds
    entropy: float | None  # at the end
    length: float | None
    collapsed: Mapping[int, int | None]  # of the seeds that were examined while they trained: the step of a collapse
    judge: str = ""  # who found the answers right; empty where the results of earlier versions do not say it
    others: Mapping[str, Bounds | None] = field(default_factory=dict)  # pass@1 after training by each further judge


@dataclass(frozen=True)
class Findings:
    """Everything that a report of a study shows.

    findings = analyse(study, results)
    print(findings.conclusion)
    """

    study: Study
    results: Mapping[StudyRun, Result]
    cells: tuple[Cell, ...]
    seen: tuple[Seen, ...]
    bases: Mapping[str, Mapping[int, Bounds]]  # task -> k -> pass@k before training
    examples: Mapping[str, Mapping[int, Bounds]]  # likewise with worked examples before each question
    guesses: Guesses  # of a blind guesser
    missing: int  # runs that are not done
    conclusion: str
    notes: tuple[str, ...]

    def cell(self, arm: str, task: str) -> Cell:
        return next(cell for cell in self.cells if (cell.arm, cell.task) == (arm, task))

    def of(self, arm: str, task: str) -> list[Result]:
        """The results of an arm on a task."""
        return [result for run, result in self.results.items() if (run.arm, run.task) == (arm, task)]


def analyse(study: Study, results: Mapping[StudyRun, Result], guesses: Guesses = NO_GUESSES) -> Findings:
    """The findings of the runs that are done. Seeds that an arm lacks are left out where it is compared. `guesses` are
    the scores of a blind guesser (`assay.lab.study.guesses`).
    """
    places = [(arm, task) for task in study.tasks for arm in study.arms]
    of = {pair: [r for run, r in results.items() if (run.arm, run.task) == pair] for pair in places}
    first = next(iter(study.arms))
    examined = {(arm, task): after for task in study.tasks for arm, after in _after(study, task, of).items()}
    claims = [
        FIRST if arm == first else claim_of(examined[first, task], examined[arm, task]).concluded(study.family)
        for arm, task in places
    ]
    cells = tuple(
        _cell(study, (arm, task), of[arm, task], examined[arm, task], claim, guesses.get(task, {}))
        for (arm, task), claim in zip(places, claims, strict=True)
    )
    missing = len(list(study.runs())) - len(results)
    seen = contrasts.seen(study, list(results.values()), guesses)
    notes = _notes(study, results, cells, guesses)
    most = {task: max((of[arm, task] for arm in study.arms), key=len) for task in study.tasks}
    before, shown = (
        {task: _passes([exam for run in runs if (exam := exam_of(run)) is not None]) for task, runs in most.items()}
        for exam_of in (_base, _examples)
    )
    conclusion = _conclusion(study, cells, missing)
    return Findings(study, results, cells, seen, before, shown, guesses, missing, conclusion, notes)


def _base(run: Result) -> Exam | None:
    return run.before


def _examples(run: Result) -> Exam | None:
    return run.examples


def _after(study: Study, task: str, of: Mapping[tuple[str, str], Sequence[Result]]) -> dict[str, Examined]:
    """The scores that the study compares: of each arm on this task."""
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
    return Examined({seed: {WHOLE: score} for seed, score in scores.items()}, _asked(results))


def held_out(result: Result, tokens: float) -> float:
    """The held-out score after so many generated tokens; between two exams it is read off the line between them."""
    return float(np.interp(tokens, [point[1] for point in result.curve], [point[2] for point in result.curve]))


def _of_exams(exams: Iterable[tuple[int, Exam | None]], results: Sequence[Result]) -> Examined:
    scores = {
        seed: shares(exam.problems, exam.n, exam.right) if exam.problems else {WHOLE: exam.passes[1]}
        for seed, exam in exams
        if exam is not None
    }
    return Examined(scores, _asked(results))


def _asked(results: Sequence[Result]) -> frozenset[tuple[Any, ...]]:
    """What must be equal of results that are compared. Verifiers of a task are one judge, whatever their name was."""
    return frozenset((*r.asked, r.judge if r.judge.startswith(YOUR) else VERIFIER) for r in results)


def _cell(
    study: Study,
    place: tuple[str, str],
    results: Sequence[Result],
    after: Examined,
    claim: Claim,
    guessed: Mapping[int, float],
) -> Cell:
    (arm, task), before = place, _before(study, results)
    names = sorted({name for result in results for name in result.spent})
    return Cell(
        arm=arm,
        task=task,
        seeds=tuple(result.seed for result in results),
        rate=results[0].rate if results else 1.0,
        before=_mean(before),
        after=_mean(after),
        gain=_gain(before, after),
        passes=_passes([result.after for result in results if result.after is not None]),
        changes=_changes(results, _base, study.changes, guessed),
        beyond=_changes(results, _examples, study.changes, guessed),
        claim=claim,
        spent={name: float(np.mean([result.spent.get(name, 0.0) for result in results])) for name in names},
        seconds=math.fsum(result.seconds for result in results),
        entropy=_last(results, "entropy"),
        length=_last(results, "length"),
        collapsed={result.seed: result.collapsed for result in results if result.watched},
        judge=" or ".join(dict.fromkeys(result.judge for result in results if result.judge)),
        others={
            judge: _mean(_of_exams([(r.seed, r.others.get(judge)) for r in results], results))
            for judge in dict.fromkeys(judge for result in results for judge in result.others)
        },
    )


def _mean(examined: Examined) -> Bounds | None:
    """The mean with its interval; the mean alone if only one seed is done, because nothing more can be said then."""
    if len(examined.scores) != 1:
        return as_dict(mean_of(examined))
    (scores,) = examined.scores.values()
    return {"mean": float(np.mean(list(scores.values())))} if scores else None


def _gain(before: Examined, after: Examined) -> Bounds | None:
    """The change by training, with an interval of its own: no verdict is given on it."""
    found = claim_of(before, after).effect
    return None if found is None else as_dict(found.within(LEVEL))


def _passes(exams: Sequence[Exam]) -> dict[int, Bounds]:
    """pass@k after training over the problems that all seeds have; over the seeds alone where only means were kept."""
    if len(exams) < 2:
        return {}
    ks = [k for k in exams[0].passes if all(k in exam.passes for exam in exams)]
    if not all(exam.problems for exam in exams):
        return {k: _known(effect_of_seeds([exam.passes[k] for exam in exams], bounds=SHARES)) for k in ks}
    counts = [dict(zip(exam.problems, zip(exam.n, exam.right), strict=True)) for exam in exams]
    shared = [problem for problem in exams[0].problems if all(problem in of and of[problem][0] for of in counts)]
    if len(shared) < 2:
        return {}
    n, right = (np.array([[of[problem][i] for problem in shared] for of in counts]) for i in (0, 1))
    return {
        k: _known(effect(np.array([pass_at_k(*pair, k=k) for pair in zip(n, right, strict=True)]), bounds=SHARES))
        for k in ks
        if k <= n.min()
    }


def _changes(
    results: Sequence[Result], exam_of: Callable[[Result], Exam | None], family: Family, guessed: Mapping[int, float]
) -> dict[int, Conclusion]:
    """The conclusions on an arm's pass@k against an exam of its base, at the least and at the largest k: the curves may
    cross between them.
    """
    runs = [result for result in results if exam_of(result) is not None and result.after is not None]
    exams = [exam for result in runs for exam in (exam_of(result), result.after) if exam is not None]
    ks = set.intersection(*(set(exam.passes) for exam in exams)) if exams else set[int]()
    concluded: dict[int, Conclusion] = {}
    for k in sorted({min(ks), max(ks)}) if ks else ():
        change = contrasts.differences_at([exam_of(run) for run in runs], [run.after for run in runs], k)
        if change is not None:
            sides = [float(np.mean([exam.passes[k] for exam in side])) for side in (exams[::2], exams[1::2])]
            concluded[k] = conclude(change, Stated(), family, void=contrasts.guessable(k, sides, guessed))
    return concluded


def _known(found: Effect) -> Bounds:
    return {"mean": found.mean, "low": found.low, "high": found.high}


def _last(results: Sequence[Result], name: str) -> float | None:
    values = [series[-1][1] for result in results if (series := result.series.get(name))]
    return float(np.mean(values)) if values else None


def _conclusion(study: Study, cells: Sequence[Cell], missing: int) -> str:
    """One honest sentence for each task."""
    first, sentences = next(iter(study.arms)), []
    for task in study.tasks:
        here = [cell for cell in cells if cell.task == task and cell.arm != first]
        parts = []
        for word in ("BETTER", "WORSE"):
            decided = [cell for cell in here if cell.claim.word == word and cell.claim.effect]
            decided.sort(key=lambda cell: -abs(cell.claim.effect.mean if cell.claim.effect else 0.0))
            named = [f"{cell.arm} ({change(cell.claim.difference)})" for cell in decided]
            parts += [f"{_few(named)} {_is(named)} {word} than {first}"] if named else []
        if equal := [cell.arm for cell in here if cell.claim.word == "EQUAL"]:
            parts.append(f"{_few(equal)} {_is(equal)} EQUAL to {first} within {WORTH}")
        if undecided := [cell for cell in here if cell.claim.word == "UNDECIDED"]:
            names = [cell.arm for cell in undecided]
            most = max((cell.claim.conclusion for cell in undecided), key=_seeds_needed)
            parts.append(f"{_few(names)} {_is(names)} UNDECIDED{most.lacking if most else ''}")
        if few := [cell for cell in here if cell.claim.word == "NOT ENOUGH SEEDS"]:
            names = [cell.arm for cell in few]
            seeds = max(cell.claim.effect.seeds or 0 for cell in few if cell.claim.effect)
            parts.append(f"NOT ENOUGH SEEDS for a word about {_few(names)}: {seeds}, where {LEAST_SEEDS} are the least")
        silent = [cell.arm for cell in here if cell.claim.word is None]
        parts += [f"{_few(silent)} could not be compared"] if silent else []
        sentences.append(f"On {task}, {', and '.join(parts)}.")
    unfinished = f" {missing} runs are not done yet." if missing else ""
    return " ".join(sentences) + unfinished


def _is(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _seeds_needed(conclusion: Conclusion | None) -> int:
    return (conclusion and conclusion.needed and conclusion.needed.seeds) or 0


def _few(names: Sequence[str]) -> str:
    """The names, or of many the first and how many more there are."""
    return listed(names if len(names) <= NAMED else [*names[: NAMED - 1], f"{len(names) - NAMED + 1} more"])


def _notes(
    study: Study, results: Mapping[StudyRun, Result], cells: Sequence[Cell], guesses: Guesses
) -> tuple[str, ...]:
    """The notes that a reader needs to trust the numbers."""
    notes = [
        f"{len(study.seeds)} seeds; every run may spend {study.budget}. Intervals of scores are 95 % each, over seeds "
        "and problems; differences are paired by both.",
        f"One family of {study.family}. Their intervals hold the truth together at 95 %, and each word follows from "
        "its own interval; p is the chance of a false word in the family at which that word would just be said.",
    ]
    if study.bases > 1:
        notes.append(
            f"The seeds begin from {study.bases} bases, which were made alike with seeds of their own: what holds for "
            "the seeds holds for new bases too."
        )
    if any(cell.changes for cell in cells):
        notes.append(f"What is said of changes from the base is a family of its own: {study.changes}.")
    if any(cell.beyond for cell in cells):
        notes.append(
            "The base with examples is the untrained model with worked examples before each question: an arm that is "
            "not BETTER than that has brought out what the model knew. These differences are one more such family."
        )
    if guesses:
        notes.append(
            "A blind guesser draws answers from those of training problems of the same level by their frequency, k "
            "times with replacement. At several samples nothing is said of models that are no better."
        )
    if study.scores == "equal-tokens":
        notes.append(
            "Scores are those of held-out problems during training, where all runs of a seed have generated as many "
            "tokens as the one that ends first; intervals are over seeds alone. pass@k is that of the exam after "
            "training, where runs have spent what they spent."
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
        notes.append(f"{_rates(study)} Nobody tuned them.")
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


def _rates(study: Study) -> str:
    """The origin of the arms' learning rates, as a sentence: their recipes, or the study."""
    given: dict[str, list[str]] = {}
    for name, arm in study.arms.items():
        settings = {full(key): value for key, value in {**study.settings, **arm.settings}.items()}
        given.setdefault(str(settings.get(RATE, "")), []).append(name)
    if list(given) == [""]:
        return f"Learning rates are those that the profile {study.profile} gives the recipes."
    told = [f"{rate} for {_few(arms)}" for rate, arms in given.items() if rate]
    own = [f"{_few(given[''])} as the profile {study.profile} has it"] if "" in given else []
    return f"The study sets the learning rates: {'; '.join([*told, *own])}."


def as_json(findings: Findings) -> Json:
    return {
        "arms": list(findings.study.arms),
        "tasks": list(findings.study.tasks),
        "seeds": list(findings.study.seeds),
        "budget": str(findings.study.budget),
        "conclusion": findings.conclusion,
        "notes": list(findings.notes),
        "bases": {task: {str(k): v for k, v in passes.items()} for task, passes in findings.bases.items()},
        "examples": {task: {str(k): v for k, v in passes.items()} for task, passes in findings.examples.items()},
        "guesses": {task: {str(k): v for k, v in passes.items()} for task, passes in findings.guesses.items()},
        "missing": findings.missing,
        "family": str(findings.study.family),
        "cells": [_cell_json(cell) for cell in findings.cells],
        "expected": [
            {**vars(contrast.expected), "task": contrast.task, "means": contrast.means}
            | {
                "agreeing": contrast.agreeing,
                "seeds": contrast.seeds,
                "apart": list(contrast.apart),
                **_concluded(contrast.conclusion),
            }
            for contrast in findings.seen
        ],
    }


def _cell_json(cell: Cell) -> Json:
    about = {k: v for k, v in vars(cell).items() if k not in ("claim", "passes", "changes", "beyond")}
    claim = _concluded(cell.claim.conclusion) | {"verdict": cell.claim.verdict}
    beside = {
        name: {str(k): _concluded(one) for k, one in getattr(cell, name).items()} for name in ("changes", "beyond")
    }
    return {**about, "pass": {str(k): v for k, v in cell.passes.items()}, **beside, **claim}


def _concluded(conclusion: Conclusion | None) -> Json:
    """A conclusion as data; of the first arm, and where there is nothing to conclude, all is null."""
    if conclusion is None:
        return dict.fromkeys(("difference", "p", "word", "verdict", "needed", "power"))
    return {
        "difference": as_dict(conclusion.found),
        "p": conclusion.p,
        "word": conclusion.word,
        "verdict": str(conclusion),
        "needed": conclusion.needed and vars(conclusion.needed),
        "power": conclusion.power,  # of seeing twice the smallest effect
    }
