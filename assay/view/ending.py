"""The end of a run: its report and its model card are written, and its results are printed as a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from assay.host import terminal
from assay.view.card import write_card
from assay.view.report import write_report
from assay.view.results import outcome, table


def finished(path: Path) -> dict[str, Any]:
    """Writes the report and the model card of a run, prints its results as a table, and returns them as data."""
    report = write_report(path)
    write_card(path)
    result = outcome(path) | {"report": str(report)}
    terminal.tell(f"{table(result)}\nrun     {path}\nreport  {report}")
    return result
