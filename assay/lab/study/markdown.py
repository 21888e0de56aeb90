"""The report of a study as a Markdown file: small, without pictures, to be committed beside the results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.lab.study.analysis import Findings
from assay.lab.study.table import OF_A_TASK, WORDS, changes, collapses, expectation, judged_too, passes, texts
from assay.record import disk

NAME = "report.md"


def write(findings: Findings, folder: Path) -> Path:
    """Writes FOLDER/report.md and returns its path."""
    path = folder / NAME
    with disk.storage_errors(f"writing the report of {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
        disk.replace(path, text(findings, folder.name).encode(), point="report")
    return path


def text(findings: Findings, name: str) -> str:
    """The Markdown of the report."""
    study = findings.study
    parts = [f"# {name}", findings.conclusion]
    parts += [f"Expected: {study.expects}."] if study.expects else []
    parts += [expectation(seen) for seen in findings.seen]
    for task in study.tasks:
        parts.append(f"## {task}")
        cells = [cell for cell in findings.cells if cell.task == task]
        parts.append(_table(OF_A_TASK, [texts(cell) for cell in cells]))
        parts += [sentence for sentence in (judged_too(findings, task), collapses(findings, task)) if sentence]
        headings, *rows = passes(findings, task)
        parts += [_table(headings, rows)] if rows else []
        parts += [_table(beside[0], beside[1:])] if (beside := changes(findings, task)) else []
    parts += ["## How to read this", "\n".join(f"- {_plain(note)}" for note in findings.notes)]
    return "\n\n".join(parts) + "\n"


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    sides = ["---" if heading in WORDS or heading.startswith("word") else "---:" for heading in headings]
    lines = [headings, sides, *rows]
    return "\n".join(f"| {' | '.join(_plain(cell) for cell in line)} |" for line in lines)


def _plain(text: str) -> str:
    """The text in one line that ends no cell and begins no tag."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
