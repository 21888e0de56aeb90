"""The final exams of runs that are compared: which runs were asked the same rows, and who judged their answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.lab.seeds import task_of
from assay.record import RunFolder
from assay.tasks.data import is_data
from assay.view.judged import Judged, judged, spoken

Json = Mapping[str, Any]


def asked_alike(runs: Sequence[RunFolder], finals: Sequence[Json | None]) -> tuple[list[str], tuple[str, ...]]:
    """(the task of each run, a sentence for each name that stands for another). Files with the same rows are one task,
    whatever they are called: rows are known by their content, and the exam of one run asks those of the other, or some
    of them.
    """
    tasks, told, seen = [], dict[str, None](), dict[str, set[str]]()
    for run, final in zip(runs, finals, strict=True):
        name, rows = task_of(run), _rows(final)
        first = next((other for other, theirs in seen.items() if rows and (rows <= theirs or theirs <= rows)), name)
        if first != name:
            told[f"{name} holds the rows of {first} under another name: they are compared as one task"] = None
        if rows:
            seen.setdefault(first, rows)
        tasks.append(first)
    return tasks, tuple(told)


def _rows(final: Json | None) -> set[str]:
    """The problems of an exam on rows of data files alone; none of any other exam."""
    bank = (final or {}).get("bank") or {}
    return set(bank.get("problems", ())) if all(is_data(str(name)) for name in bank.get("tasks", ())) else set()


def judges_of(run: RunFolder, final: Json | None) -> list[Judged]:
    """The scores of a run's final exam by each judge, the first judge first."""
    return [] if final is None else judged(final, run.document)


def judged_otherwise(first: Sequence[Judged], other: Sequence[Judged]) -> str:
    """Why the first scores of two exams are not compared; '' if one judge gave both."""
    if not first or not other:
        return ""
    if first[0].judge != other[0].judge:
        return f"judged by {spoken(other[0].judge)}, the first by {spoken(first[0].judge)}"
    if first[0].digest != other[0].digest:
        return f"{spoken(first[0].judge)} is another function there"
    return ""


def score_of(one: Judged) -> Json | None:
    """pass@1 by a judge: mean, low and high; None where it is not known."""
    found = one.passes.get("1")
    return None if found is None else {name: found[name] for name in ("mean", "low", "high")}
