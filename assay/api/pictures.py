"""Curves of a run as a picture, which a notebook shows and a file can hold. It needs no library."""

from __future__ import annotations

import base64
import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import UsageError, unknown
from assay.lab.study.charts import COLORS, Line, chart, look

HUES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9", "#666666")
"""The colors of lines, in the order of `COLORS`; they are told apart without seeing color well."""
STYLE = (
    "<style>.axis{stroke:#ddd}text{font:12px sans-serif;fill:#555}.key{font-weight:600}</style>"
    '<rect width="100%" height="100%" fill="#fff"/>'
)
USUAL = ("reward/mean", "eval/valid/pass@1", "eval/test/pass@1")
XMLNS = 'xmlns="http://www.w3.org/2000/svg"'
LINE = 16  # height of a line of the key


@dataclass(frozen=True)
class Picture:
    """An SVG: `run.plot().save("reward.svg")`."""

    svg: str

    def save(self, path: str | Path) -> Path:
        """Writes the picture into a file and returns its path."""
        place = Path(path)
        if place.suffix != ".svg":
            raise UsageError(f"{place}: the picture is an SVG; name it {place.with_suffix('.svg')}.")
        place.write_text(self.svg, encoding="utf-8")
        return place

    def _repr_html_(self) -> str:
        """As an image, so that no style of it reaches the page around it."""
        data = base64.b64encode(self.svg.encode()).decode()
        return f'<img alt="curves of a run" style="max-width:640px;width:100%" src="data:image/svg+xml;base64,{data}">'


def curves(
    names: Sequence[str], metrics: Sequence[Mapping[str, Any]], scores: Mapping[str, Mapping[int, Any]]
) -> Picture:
    """The picture of these metrics against steps; of `scores` too, which have an interval at each step."""
    known = sorted({name for record in metrics for name in record if name != "step"} | {*scores})
    if strange := [name for name in names if name not in known]:
        raise unknown("metric of this run", strange[0], known, "run.metrics()[-1]")
    asked = names or [name for name in USUAL if name in known]
    lines = [_line(name, metrics, scores) for name in asked]
    return Picture(standing(chart([line for line in lines if line.points], x="step", y="value"), asked))


def _line(name: str, metrics: Sequence[Mapping[str, Any]], scores: Mapping[str, Mapping[int, Any]]) -> Line:
    if name in scores:
        points = [(float(step), *_bounds(interval)) for step, interval in sorted(scores[name].items())]
    else:
        values = [(float(record["step"]), float(record[name])) for record in metrics if name in record]
        points = [(step, value, value, value) for step, value in values]
    return Line(name, tuple(point for point in points if all(map(math.isfinite, point))))


def _bounds(interval: Mapping[str, Any]) -> tuple[float, float, float]:
    """(mean, low, high) of an interval; a bound that is not known is the mean."""
    mean = float(interval["mean"])
    low, high = (mean if interval.get(side) is None else float(interval[side]) for side in ("low", "high"))
    return mean, low, high


def standing(svg: str, names: Sequence[str]) -> str:
    """A chart of a page as a file of its own: with its colors, on white, and with a key below it."""
    if not svg.startswith("<svg"):
        return f'<svg {XMLNS} viewBox="0 0 480 40">{STYLE}<text x="8" y="24">nothing was recorded yet</text></svg>'
    width, height = (int(number) for number in svg.partition('viewBox="0 0 ')[2].partition('"')[0].split())
    key = "".join(_key(name, number, height) for number, name in enumerate(names))
    size = f'viewBox="0 0 {width} {height + LINE * len(names) + 4}"'
    opened, _, rest = svg.replace(f'viewBox="0 0 {width} {height}"', f"{XMLNS} {size}", 1).partition(">")
    whole = f"{opened}>{STYLE}{rest.removesuffix('</svg>')}{key}</svg>"
    for name, hue in zip(COLORS, HUES, strict=True):
        whole = whole.replace(f"var(--{name})", hue)
    return whole


def _key(name: str, number: int, below: int) -> str:
    """The name of a line in its color."""
    place = f'x="52" y="{below + LINE * (number + 1) - 4}"'
    return f'<text class="key" {place} style="fill:var(--{look(number)[0]})">{html.escape(name)}</text>'
