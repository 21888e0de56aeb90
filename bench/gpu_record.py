"""What `bench.gpu` has measured so far, on disk after each number, so that a run that is cut short loses none."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any, Literal

from bench.gpu_goals import as_data, goals_of
from bench.gpu_report import report

Part = Literal["checks", "rows", "trl", "profile", "kernels"]
PARTS: tuple[Part, ...] = ("checks", "rows", "trl", "profile", "kernels")


class Record:
    """The results as data and as a page, each replaced as a whole after every change.

    Example:
        record = Record(Path("gpu"), machine={"device": "..."}, toy=False)
        record.add("checks", {"name": "gradient", "value": 0.0, "bound": "<= 1", "passed": True})
    """

    def __init__(self, out: Path, *, machine: dict[str, str], toy: bool, stages: tuple[str, ...]) -> None:
        self.out = out
        self._lock = threading.RLock()
        self.data: dict[str, Any] = {
            "machine": machine,
            "toy": toy,
            "stages": {name: {"state": "not begun"} for name in stages},
            **{part: [] for part in PARTS},
        }
        self.save()

    def add(self, part: Part, row: dict[str, Any]) -> None:
        with self._lock:
            self.data[part].append(row)
            self.save()

    def mark(self, stage: str, **facts: Any) -> None:
        """What is to be said of a stage: its state, its seconds, its error."""
        with self._lock:
            self.data["stages"][stage] |= facts
            self.save()

    def row(self, part: Part, **of: Any) -> dict[str, Any] | None:
        """The first row with these values."""
        rows = self.data[part]
        return next((row for row in rows if all(row.get(name) == value for name, value in of.items())), None)

    @property
    def whole(self) -> dict[str, Any]:
        """The data, and what became of each goal."""
        return self.data | {"goals": [as_data(goal) for goal in goals_of(self.data)]}

    @property
    def page(self) -> str:
        return report(self.whole)

    def save(self) -> None:
        with self._lock:
            _replace(self.out.with_name(f"{self.out.name}.json"), json.dumps(self.whole, indent=1) + "\n")
            _replace(self.out.with_name(f"{self.out.name}.md"), self.page)


def _replace(path: Path, text: str) -> None:
    """Whoever looks sees the old file or the new one."""
    new = path.with_name(f".{path.name}.new")
    new.write_text(text)
    new.replace(path)
