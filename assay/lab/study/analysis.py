"""What a study says: each arm's score on each task, its difference from the first arm, and one sentence about it all.

Scores are of the exam after training. Differences are paired by seed and problem, and hold for new seeds and problems
(`assay.scoring.inference`); verdicts are corrected for all differences of the study at once (Holm).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.lab.seeds import WORTH, Claim, Examined, bounds, claim_of, judged, mean_of
from assay.lab.study.plan import Run, Study
from assay.lab.study.queue import PASSED
from assay.lab.study.results import Result
from assay.scoring.bank import Bank, powers
from assay.scoring.inference import effect
from assay.scoring.passk import pass_at_k

Json = dict[str, Any]
Bounds = dict[str, float]
UNEVEN = 0.1  # budgets that differ by more than this share are said


@dataclass(frozen=True)
class Cell:
    """An arm on a task: what its runs came to."""

    arm: str
    task: str
    seeds: tuple[int, ...]
    rate: float  # the factor of the learning rate that the trials chose
    before: Bounds | None
    after: Bounds | None
    passes: Mapping[int, Bounds]  # k -> pass@k after training
    claim: Claim
    spent: Mapping[str, float]  # means over the seeds
    seconds: float  # of all seeds
    entropy: float | None  # at the end
    length: float | None


@dataclass(frozen=True)
class Findings:
    """Everything that a report of a study shows.

    findings = analyse(study, results)
    print(findings.conclusion)
    """

    study: Study
    results: Mapping[Run, Result]
    cells: tuple[Cell, ...]
    missing: int  # runs that are not done
    conclusion: str
    notes: tuple[str, ...]

    def cell(self, arm: str, task: str) -> Cell:
        return next(cell for cell in self.cells if (cell.arm, cell.task) == (arm, task))


def analyse(study: Study, results: Mapping[Run, Result]) -> Findings:
    """The findings of the runs that are done. Seeds that an arm lacks are left out where it is compared."""
    places = [(arm, task) for task in study.tasks for arm in study.arms]
    of = {place: [r for run, r in results.items() if (run.arm, run.task) == place] for place in places}
    first = next(iter(study.arms))
    examined = {place: _examined(found, lambda result: result.after) for place, found in of.items()}
    claims = judged(
        [
            Claim(reason="first") if arm == first else claim_of(examined[first, task], examined[arm, task])
            for arm, task in places
        ]
    )
    cells = tuple(_cell(arm, task, of[arm, task], claim) for (arm, task), claim in zip(places, claims, strict=True))
    missing = len(study.arms) * len(study.tasks) * len(study.seeds) - len(results)
    return Findings(study, results, cells, missing, _conclusion(study, cells, missing), _notes(study, results, cells))


def _examined(results: Sequence[Result], bank_of: Callable[[Result], Bank | None]) -> Examined:
    banks = {result.seed: bank for result in results if (bank := bank_of(result)) is not None}
    scores = {
        seed: {p: c / n for p, c, n in zip(bank.problems, bank.correct, bank.n, strict=True) if n}
        for seed, bank in banks.items()
    }
    return Examined(scores, frozenset(result.asked for result in results))


def _cell(arm: str, task: str, results: Sequence[Result], claim: Claim) -> Cell:
    names = sorted({name for result in results for name in result.spent})
    return Cell(
        arm=arm,
        task=task,
        seeds=tuple(result.seed for result in results),
        rate=results[0].rate if results else 1.0,
        before=bounds(mean_of(_examined(results, lambda result: result.before))),
        after=bounds(mean_of(_examined(results, lambda result: result.after))),
        passes=_passes([result.after for result in results if result.after is not None]),
        claim=claim,
        spent={name: float(np.mean([result.spent.get(name, 0.0) for result in results])) for name in names},
        seconds=sum(result.seconds for result in results),
        entropy=_last(results, "entropy"),
        length=_last(results, "length"),
    )


def _passes(banks: Sequence[Bank]) -> dict[int, Bounds]:
    """pass@k for the powers of two up to the fewest samples of a problem, over the problems that all seeds have."""
    if len(banks) < 2:
        return {}
    shared = sorted(set.intersection(*(set(bank.problems) for bank in banks)))
    places = [{problem: i for i, problem in enumerate(bank.problems)} for bank in banks]
    parts = [bank.select([place[p] for p in shared]) for bank, place in zip(banks, places, strict=True)]
    fewest = min((int(part.n.min()) for part in parts if len(part)), default=0)
    if len(shared) < 2 or not fewest:
        return {}
    found: dict[int, Bounds] = {}
    for k in powers(fewest):
        values = effect(np.array([pass_at_k(part.n, part.correct, k=k) for part in parts]))
        found[k] = {"mean": values.mean, "low": values.low, "high": values.high}
    return found


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
            named = [f"{c.arm} ({_signed(c.claim)})" for c in here if c.claim.verdict == verdict]
            parts += [f"{_listed(named)} {'is' if len(named) == 1 else 'are'} {words} than {first}"] if named else []
        equal = [c.arm for c in here if c.claim.verdict.startswith("equal")]
        parts += (
            [f"{_listed(equal)} {'is' if len(equal) == 1 else 'are'} as good as {first} within {WORTH}"]
            if equal
            else []
        )
        open_ = [c for c in here if c.claim.verdict.startswith("undecided")]
        if open_:
            most = max(c.claim.seeds_needed or 0 for c in open_)
            parts.append(f"nothing can be said of {_listed([c.arm for c in open_])} ({most} seeds would show {WORTH})")
        silent = [c.arm for c in here if c.claim.effect is None]
        parts += [f"{_listed(silent)} could not be compared"] if silent else []
        said.append(f"On {task}, {', and '.join(parts)}.")
    unfinished = f" {missing} runs are not done yet." if missing else ""
    return " ".join(said) + unfinished


def _notes(study: Study, results: Mapping[Run, Result], cells: Sequence[Cell]) -> tuple[str, ...]:
    """What a reader must know to trust the numbers."""
    compared = max(0, len(cells) - len(study.tasks))
    notes = [
        f"{len(study.seeds)} seeds; every run may spend {study.budget}. Intervals are 95 %, over seeds and problems; "
        f"differences are paired by both, and verdicts corrected for all {compared} of them."
    ]
    if study.trials:
        rates = ", ".join(f"{rate:g}" for rate in study.trials)
        chosen = ", ".join(f"{cell.arm} on {cell.task}: {cell.rate:g}" for cell in cells)
        notes.append(
            f"Each arm's learning rate was the best of {rates} times its own, by a seed not shown here: {chosen}."
        )
    else:
        notes.append("Learning rates are those of the recipes: nobody tuned them, for no arm.")
    for task in study.tasks:
        spent = {c.arm: c.spent.get("generated_tokens", 0.0) for c in cells if c.task == task and c.seeds}
        if spent and max(spent.values()) > (1 + UNEVEN) * min(spent.values()):
            most, least = max(spent, key=spent.__getitem__), min(spent, key=spent.__getitem__)
            notes.append(
                f"On {task}, {most} generated {spent[most]:,.0f} tokens a run and {least} {spent[least]:,.0f}: read "
                "their curves at the same tokens."
            )
    marks = sorted({result.code for result in results.values()})
    if len(marks) > 1:
        notes.append(f"Runs of different code stand beside each other ({', '.join(marks)}); --again repeats the older.")
    if study.differ:
        notes.append(f"Arms differ, as the study declares, in {', '.join(study.differ)}.")
    return tuple(notes)


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


def text(findings: Findings) -> list[list[str]]:
    """The rows of the table, with the headings first: task, arm, seeds, before, after, difference, verdict, cost."""
    rows = [["task", "arm", "seeds", "before", f"after ({PASSED})", "difference", "p", "verdict", "tokens", "seconds"]]
    for cell in findings.cells:
        p = cell.claim.p
        rows.append(
            [
                cell.task,
                cell.arm,
                str(len(cell.seeds)),
                "-" if cell.before is None else f"{cell.before['mean']:.3f}",
                "-"
                if cell.after is None
                else f"{cell.after['mean']:.3f} [{cell.after['low']:.3f}, {cell.after['high']:.3f}]",
                _signed(cell.claim),
                "-" if p is None else "<0.001" if p < 0.001 else f"{p:.3f}",
                cell.claim.verdict,
                f"{cell.spent.get('generated_tokens', 0.0):,.0f}",
                f"{cell.seconds:,.0f}",
            ]
        )
    return rows


def _signed(claim: Claim) -> str:
    found = claim.effect
    return "-" if found is None else f"{found.mean:+.3f} [{found.low:+.3f}, {found.high:+.3f}]"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
