"""The measures of a pair as one HTML file that needs no network, no script and no other file."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from assay.lab.analyses.analysis import Taken, cells
from assay.lab.analyses.measure import Plot
from assay.lab.analyses.pair import Pair, Side
from assay.lab.study.charts import chart, look
from assay.lab.study.page import STATIC, styles, trusted
from assay.record import disk

if TYPE_CHECKING:
    import jinja2

NAME = "analysis.html"


def write(pair: Pair, taken: Sequence[Taken], folder: Path) -> Path:
    """Writes the page into a folder and returns its path."""
    target = folder / NAME
    with disk.storage_errors(f"writing {target}"):
        folder.mkdir(parents=True, exist_ok=True)
        disk.replace(target, page(pair, taken).encode(), point="analysis")
    return target


def page(pair: Pair, taken: Sequence[Taken]) -> str:
    """The HTML of the page."""
    return _template().render(
        css=styles(),
        pair=pair,
        facts=[facts for side in (("base", pair.base), ("child", pair.child)) for facts in _facts(*side)],
        taken=[
            (
                one,
                [(table, cells(table)) for table in one.reading.tables] if one.reading else [],
                [_drawn(plot) for plot in one.reading.plots] if one.reading else [],
            )
            for one in taken
        ],
    )


def _facts(title: str, side: Side) -> list[tuple[str, str]]:
    if side.bank is None:
        return [(title, side.name)]
    asked = side.bank.asked
    said = f"{asked.samples} samples of {len(asked.problems)} problems, temperature {asked.temperature:g}"
    return [(title, side.name), (f"answers of the {title}", said), (f"weights of the {title}", asked.weights[:12])]


def _drawn(plot: Plot) -> tuple[str, str, list[tuple[str, str]]]:
    """(title, SVG, the name and color of each line)."""
    svg = chart(plot.lines, x=plot.x, y=plot.y, log=plot.log)
    return plot.title, trusted(svg), [(line.name, look(i)[0]) for i, line in enumerate(plot.lines)]


@functools.cache
def _template() -> jinja2.Template:
    import jinja2

    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string((STATIC / "analysis.html").read_text(encoding="utf-8"))
