"""Differences as a forest: a row for each, with its interval, the points of single seeds, and its word."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass

from assay.lab.study.charts import Axis

WIDTH, ROW = 640, 30
LEFT, RIGHT, TOP, BOTTOM = 150, 150, 12, 36
COLORS = {"BETTER": "blue", "SUPPORTED": "blue", "WORSE": "orange", "REFUTED": "orange", "EQUAL": "green"}
NAME, WORDS = 22, 20  # characters of a name and of a word that are shown


@dataclass(frozen=True)
class Stem:
    """A difference with its interval.

    Stem("dapo", 0.04, 0.01, 0.07, (0.02, 0.05, 0.05), "BETTER")
    """

    name: str
    mean: float
    low: float
    high: float
    points: tuple[float, ...]  # of single seeds
    word: str


def forest(stems: Sequence[Stem], *, x: str, worth: float = 0.0) -> str:
    """The SVG of these differences, in the colors of the page around it. Differences within `worth` are shaded."""
    shown = [stem for stem in stems if all(map(math.isfinite, (stem.mean, stem.low, stem.high)))]
    if not shown:
        return ""
    values = [value for stem in shown for value in (stem.low, stem.high, *stem.points)]
    across = Axis([*values, 0.0, worth, -worth], LEFT, WIDTH - RIGHT)
    height = TOP + ROW * len(shown) + BOTTOM
    foot = height - BOTTOM
    parts = [f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{html.escape(x)}">']
    if worth:
        parts.append(_band(across(-worth), across(worth), foot))
    parts.append(f'<line class="zero" x1="{across(0):.1f}" x2="{across(0):.1f}" y1="{TOP}" y2="{foot}"/>')
    for tick in across.ticks():
        parts.append(_text(across(tick), foot + 16, f"{tick:+.3g}" if tick else "0", "middle"))
    parts.append(_text((LEFT + WIDTH - RIGHT) / 2, height - 4, x, "middle"))
    for number, stem in enumerate(shown):
        parts += _row(stem, across, TOP + ROW * (number + 0.5))
    return "".join([*parts, "</svg>"])


def _band(left: float, right: float, foot: float) -> str:
    width = right - left
    return (
        f'<rect x="{left:.1f}" y="{TOP}" width="{width:.1f}" height="{foot - TOP}" fill="currentColor" opacity="0.06"/>'
    )


def _row(stem: Stem, across: Axis, y: float) -> list[str]:
    color = f"var(--{COLORS.get(stem.word.partition(' ')[0].rstrip(',;:'), 'before')})"
    told = f"{stem.name}: {stem.mean:+.3f} [{stem.low:+.3f}, {stem.high:+.3f}], {stem.word}"
    parts = [f'<g fill="{color}" stroke="{color}"><title>{html.escape(told)}</title>']
    parts.append(
        f'<line x1="{across(stem.low):.1f}" x2="{across(stem.high):.1f}" y1="{y:.1f}" y2="{y:.1f}" stroke-width="2"/>'
    )
    for point in stem.points:
        parts.append(f'<circle cx="{across(point):.1f}" cy="{y:.1f}" r="2.5" fill="none" opacity="0.7"/>')
    parts.append(f'<circle cx="{across(stem.mean):.1f}" cy="{y:.1f}" r="4.5"/></g>')
    parts.append(_text(LEFT - 8, y + 4, _cut(stem.name, NAME), "end"))
    parts.append(_text(WIDTH - RIGHT + 8, y + 4, _cut(stem.word, WORDS), "start"))
    return parts


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(text)}</text>'


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
