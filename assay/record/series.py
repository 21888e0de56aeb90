"""What a tracker is told of a run: its name and settings at the start, and at the end how it ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Ended = Literal["finished", "stopped", "failed"]
"""How a run ended: at its last step, by a signal or a lost server, after which it can be resumed, or by an error."""


@dataclass(frozen=True)
class Series:
    """The name and the settings of a run for its trackers: `Series("a1b2c3", "first", "assay", Path("runs/first"))`."""

    id: str  # stays the same when the run is resumed
    name: str
    project: str
    folder: Path
    config: Mapping[str, Any] = field(default_factory=dict)
    first: int = 0  # the first step that will be logged; a resumed run repeats the steps after its checkpoint
    offline: bool = False
    mlflow_uri: str = ""
    card: Callable[[], str] | None = None  # makes the model card of the run when the run has finished


def leaves(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """(dotted path, value) for each value in nested mappings; a list becomes text."""
    if isinstance(tree, Mapping):
        for name, value in tree.items():
            yield from leaves(value, f"{path}.{name}" if path else str(name))
    else:
        yield path, tree if isinstance(tree, str | int | float | bool | None) else str(tree)
