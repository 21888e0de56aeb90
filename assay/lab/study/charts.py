"""Line charts with bands as SVG, in the colors of the page around it, without scripts, fonts or other files."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 480, 260
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 10, 34
COLORS = ("blue", "orange", "green", "purple", "amber", "sky", "before")  # variables of the style sheet
DASHES = ("", "6 4", "2 3")  # of lines, once all colors are taken
Range = tuple[float, float]


@dataclass(frozen=True)
class Line:
    """One line of a chart: points, and at each point the bounds of its band.

    Line("grpo", ((0.0, 0.12, 0.10, 0.14), (1e5, 0.21, 0.19, 0.23)))
    """

    name: str
    points: tuple[tuple[float, float, float, float], ...]  # x, y, low, high


def look(number: int) -> tuple[str, str]:
    """The color of a line by its number, and its dashes: no two of 21 lines look alike."""
    return COLORS[number % len(COLORS)], DASHES[number // len(COLORS) % len(DASHES)]


def chart(
    lines: Sequence[Line], *, x: str, y: str, log: bool = False, across: Range | None = None, up: Range | None = None
) -> str:
    """The SVG of these lines, in the order of the colors; `log`: the horizontal axis counts doublings. Charts with
    the same range `across` or `up` can be read together.
    """
    finite = [point for line in lines for point in line.points if all(map(math.isfinite, point))]
    if not finite:
        return f'<p class="empty">no {html.escape(y)} was recorded</p>'
    scale = math.log2 if log else float
    right = Axis([scale(value) for value in across or [point[0] for point in finite]], LEFT, WIDTH - RIGHT)
    above = Axis(up or [value for point in finite for value in point[1:]], HEIGHT - BOTTOM, TOP)
    named = html.escape(f"{y} against {x}")
    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{named}">']
    for tick in above.ticks():
        parts.append(
            f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{above(tick):.1f}" y2="{above(tick):.1f}"/>'
        )
        parts.append(f'<text x="{LEFT - 6}" y="{above(tick) + 4:.1f}" text-anchor="end">{short(tick)}</text>')
    for tick in sorted({scale(point[0]) for point in finite}) if log else right.ticks():
        told = short(2**tick if log else tick)
        parts.append(f'<text x="{right(tick):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{told}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 4}" text-anchor="middle">{html.escape(x)}</text>')
    for number, line in enumerate(lines):
        points = [p for p in line.points if all(map(math.isfinite, p))]
        if not points:
            continue
        name, dashes = look(number)
        color, drawn = f"var(--{name})", f' stroke-dasharray="{dashes}"' if dashes else ""
        high = [f"{right(scale(p[0])):.1f},{above(p[3]):.1f}" for p in points]
        low = [f"{right(scale(p[0])):.1f},{above(p[2]):.1f}" for p in reversed(points)]
        parts.append(f'<polygon points="{" ".join(high + low)}" fill="{color}" opacity="0.15"/>')
        path = " ".join(f"{right(scale(p[0])):.1f},{above(p[1]):.1f}" for p in points)
        title = html.escape(f"{line.name}: {short(points[0][1])} to {short(points[-1][1])}")
        parts.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"{drawn}>')
        parts.append(f"<title>{title}</title></polyline>")
    return "".join([*parts, "</svg>"])


class Axis:
    """From values to places on the page."""

    def __init__(self, values: Sequence[float], first: float, last: float) -> None:
        self.low, self.high = min(values), max(values)
        if self.high - self.low < 1e-12:
            margin = abs(self.low) * 0.1 or 0.5
            self.low, self.high = self.low - margin, self.high + margin
        self.first, self.last = first, last

    def __call__(self, value: float) -> float:
        return self.first + (value - self.low) / (self.high - self.low) * (self.last - self.first)

    def ticks(self) -> list[float]:
        """Round values within the range: three to seven of them."""
        rough = (self.high - self.low) / 4
        unit = 10.0 ** math.floor(math.log10(rough))
        step = next(unit * m for m in (1, 2, 2.5, 5, 10) if unit * m >= rough)
        first = math.ceil(self.low / step - 1e-9)
        return [i * step for i in range(first, math.floor(self.high / step + 1e-9) + 1)]


def short(value: float) -> str:
    """1.2M, 35k, 12, 0.125"""
    size = abs(value)
    if size >= 1e6:
        return f"{value / 1e6:.3g}M"
    if size >= 1e4:
        return f"{value / 1e3:.3g}k"
    return f"{value:.3g}"
