"""The types of a measure: what it asks of a base and of what was trained from it, what it needs, and what it found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from assay.lab.study.charts import Line

if TYPE_CHECKING:
    from assay.lab.analyses.pair import Pair

Need = Literal["banks", "weights", "checkpoints", "rollouts"]
NEEDED: Mapping[Need, str] = {
    "banks": "answers of both models to the same problems",
    "weights": "both models",
    "checkpoints": "a run with several checkpoints",
    "rollouts": "a run with its rollouts",
}
Cell = str | int | float | None


@dataclass(frozen=True)
class Sheet:
    """A table of a reading, as it is shown; numbers are rounded where they are shown.

    Sheet("Quadrants", ("", "base solves", "base does not"), (("child solves", 120, 4), ("child does not", 9, 123)))
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class Plot:
    """A line chart of a reading.

    Plot("pass@k", (Line("base", points), Line("child", others)), x="samples", y="pass@k", log=True)
    """

    title: str
    lines: tuple[Line, ...]
    x: str
    y: str
    log: bool = False


@dataclass(frozen=True)
class Reading:
    """What a measure found of a pair.

    Reading("The child is ahead up to 12 samples.", {"crossover": 12.0})
    """

    says: str  # one or two sentences
    figures: Mapping[str, Any]  # every number, as JSON data
    tables: tuple[Sheet, ...] = ()
    plots: tuple[Plot, ...] = ()
    beware: tuple[str, ...] = ()  # what these numbers do not show


@dataclass(frozen=True)
class Measure:
    """A question about a base and what was trained from it. `take` raises `Lacking` where the pair cannot answer it."""

    name: str
    title: str
    paper: str  # its number on arXiv; "" for one of ours
    asks: str  # the question, in a sentence
    needs: tuple[Need, ...]
    take: Callable[[Pair], Reading]


class Lacking(Exception):
    """Why a measure cannot be taken of a pair, and what would let it."""
