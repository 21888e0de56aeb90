"""All measures of a pair: what each found, or why it was not taken; as JSON data, as text and as a page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from assay.errors import UsageError
from assay.host import terminal
from assay.lab.analyses import NAMES, measure
from assay.lab.analyses.measure import Cell, Lacking, Measure, Need, Reading, Sheet
from assay.lab.analyses.pair import Pair
from assay.view.text import columns, number


@dataclass(frozen=True)
class Taken:
    """A measure with what it found; or with why it was not taken.

    Taken(measure("rlvr-boundary"), reading)
    """

    measure: Measure
    reading: Reading | None = None
    lacking: str = ""


def chosen(names: Sequence[str]) -> list[Measure]:
    """The measures of these names; all without any, in the order of a page."""
    return [measure(name) for name in dict.fromkeys(names or NAMES)]


def needs(names: Sequence[str]) -> set[Need]:
    """What these measures need together."""
    return {need for one in chosen(names) for need in one.needs}


def analyse(pair: Pair, names: Sequence[str] = (), *, tell: Callable[[str], None] = lambda said: None) -> list[Taken]:
    """Takes the measures of these names, or all that the pair allows. A measure that was named and cannot be taken is
    an error.
    """
    taken = []
    for measured in chosen(names):
        tell(f"{measured.name}: {measured.asks}")
        try:
            taken.append(Taken(measured, measured.take(pair)))
        except Lacking as error:
            if names:
                raise UsageError(
                    f"{measured.name} cannot be taken of {pair.base.name} and {pair.child.name}: {error}"
                ) from error
            taken.append(Taken(measured, lacking=str(error)))
    return taken


def document(pair: Pair, taken: Sequence[Taken]) -> dict[str, Any]:
    """Every number, as JSON data."""
    return {
        "base": pair.base.name,
        "child": pair.child.name,
        "measures": {
            one.measure.name: {"lacking": one.lacking}
            if one.reading is None
            else {"says": one.reading.says, **one.reading.figures}
            for one in taken
        },
    }


def text(taken: Sequence[Taken]) -> str:
    """What was found, for a terminal."""
    return "\n\n".join(terminal.plain("\n".join(_lines(one))) for one in taken)


def _lines(one: Taken) -> list[str]:
    head = f"{one.measure.name}  {one.measure.title}"
    if one.reading is None:
        return [head, f"  not taken: {one.lacking}"]
    lines = [head, one.reading.says]
    for table in one.reading.tables:
        lines += ["", f"  {table.title}", *(f"  {line}" for line in columns(cells(table)))]
    return lines + [f"  note: {said}" for said in one.reading.beware]


def cells(table: Sheet) -> list[tuple[str, ...]]:
    """The rows of a table with its head, as text."""
    return [table.columns, *(tuple(map(cell, row)) for row in table.rows)]


def cell(value: Cell) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) else f"{value:,}" if isinstance(value, int) else number(round(value, 4))
