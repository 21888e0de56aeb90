"""Carrying a study out: its missing runs, its findings and its report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.lab.study import analysis, guesses, markdown, page, queue, table
from assay.lab.study.analysis import Findings
from assay.lab.study.plan import Study


@dataclass(frozen=True)
class Carried:
    """A study that was carried out, as far as its results go: `print(Carried(...).text)`."""

    findings: Findings
    folder: Path
    report: Path

    @property
    def text(self) -> str:
        """The table of the findings, their conclusion, and what became of the expectations."""
        seen = (table.expectation(one) for one in self.findings.seen)
        return "\n".join([table.table(self.findings), self.findings.conclusion, *seen])

    def document(self) -> dict[str, Any]:
        return {**analysis.as_json(self.findings), "folder": str(self.folder), "report": str(self.report)}


def carry_out(study: Study, folder: Path, *, report: bool = False, again: bool = False, quiet: bool = False) -> Carried:
    """Does the missing runs of a checked study, and writes its report. `report`: runs nothing; `again`: repeats runs
    that other code computed.
    """
    if report:
        results = queue.stored(study, folder)
        folder.mkdir(parents=True, exist_ok=True)
    else:
        results = queue.fill(study, folder, again=again, quiet=quiet)
    findings = analysis.analyse(study, results, guesses.made(study, folder))
    written = page.write(findings, folder)
    markdown.write(findings, folder)
    return Carried(findings, folder, written)
