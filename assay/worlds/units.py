"""Units of quantities, and a tool that converts them: `3 km/h to m/s` is 5/6. All numbers are exact fractions.

A unit is a product of names with powers, `kg*m/s^2`; each `/` divides by the one factor behind it. Temperatures and
other scales with a zero of their own are left out, because they do not convert by a factor.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from assay.errors import near
from assay.worlds.tools import Scene, ToolError, takes_text

Powers = tuple[int, int, int]
"""Of length, mass and time: (1, 0, -1) is a speed."""

_LENGTH, _MASS, _TIME = (1, 0, 0), (0, 1, 0), (0, 0, 1)
_VOLUME, _FORCE, _PRESSURE, _ENERGY, _POWER = (3, 0, 0), (1, 1, -2), (-1, 1, -2), (2, 1, -2), (2, 1, -3)
_LONGEST = 80  # characters of a unit, and of a value that a reply tells
_MOST_FACTORS, _MOST_POWER = 12, 9
_FACTOR = re.compile(r"([A-Za-z]+)(?:\^(-?[0-9]))?")
_NUMBER = re.compile(r"-?[0-9]{1,80}(?:\.[0-9]{1,80}|/[0-9]{1,80})?")  # whatever a reply tells can be given back
_ASKED = re.compile(r"\s*(\S+)\s+(\S+)\s+(?:to|in)\s+(\S+)\s*")
ABOUT = "The value of a quantity in another unit, exactly: `3 km/h to m/s`."


@dataclass(frozen=True)
class Measure:
    """So many of the base units m, kg and s, in these powers: `Measure(Fraction(1000), (1, 0, 0))` is a kilometre."""

    size: Fraction
    powers: Powers

    def times(self, other: Measure, power: int = 1) -> Measure:
        one, two, three = (a + power * b for a, b in zip(self.powers, other.powers, strict=True))
        return Measure(self.size * other.size**power, (one, two, three))


def _table(powers: Powers, **sizes: str) -> dict[str, Measure]:
    return {name: Measure(Fraction(size), powers) for name, size in sizes.items()}


UNITS: dict[str, Measure] = {
    **_table(_LENGTH, m="1", km="1000", dm="1/10", cm="1/100", mm="1/1000"),
    **_table(_LENGTH, inch="0.0254", ft="0.3048", yd="0.9144", mi="1609.344"),
    **_table(_MASS, kg="1", g="1/1000", mg="1/1000000", t="1000", lb="0.45359237"),
    **_table(_TIME, s="1", ms="1/1000", min="60", h="3600", day="86400"),
    **_table(_VOLUME, L="1/1000", mL="1/1000000"),
    **_table(_FORCE, N="1", kN="1000"),
    **_table(_PRESSURE, Pa="1", kPa="1000", bar="100000"),
    **_table(_ENERGY, J="1", kJ="1000", kWh="3600000"),
    **_table(_POWER, W="1", kW="1000"),
}
"""Name -> what one of it is."""


def unit(text: str) -> Measure:
    """What a unit is. ToolError names a part that is none."""
    if len(text) > _LONGEST:
        raise ToolError("the unit is too long")
    pieces = re.split(r"([*/])", text)
    if len(pieces) // 2 >= _MOST_FACTORS:
        raise ToolError(f"a unit has at most {_MOST_FACTORS} factors")
    made = Measure(Fraction(1), (0, 0, 0))
    for sign, piece in zip(["*", *pieces[1::2]], pieces[::2], strict=True):
        written = _FACTOR.fullmatch(piece)
        if written is None:
            raise ToolError(f"{piece!r} is no unit with a whole power up to {_MOST_POWER}")
        made = made.times(_named(written[1]), int(written[2] or 1) * (1 if sign == "*" else -1))
    return made


def _named(name: str) -> Measure:
    if name not in UNITS:
        meant = near(name, UNITS)
        raise ToolError(f"there is no unit {name!r:.40}{f'; did you mean {meant}?' if meant else ''}")
    return UNITS[name]


def number(text: str) -> Fraction:
    """A whole number, a decimal or a fraction. ToolError says that it is none."""
    if _NUMBER.fullmatch(text) is None:
        raise ToolError(f"{text!r:.40} is no number")
    try:
        return Fraction(text)
    except ZeroDivisionError:
        raise ToolError("a fraction over zero") from None


def quantity(text: str) -> Measure:
    """A value with its unit: `quantity("3 km")`. ToolError says what cannot be read."""
    value, _, named = text.strip().partition(" ")
    return Measure(number(value), (0, 0, 0)).times(unit(named.strip()))


def exact(value: Fraction) -> str:
    """A whole number, a decimal where it ends within six digits, else a fraction: 25, 0.25, 5/6."""
    for digits in range(7):
        scaled = value * 10**digits
        if scaled.denominator == 1:
            whole = f"{abs(scaled.numerator):0{digits + 1}d}"
            sign = "-" if value < 0 else ""
            return sign + (f"{whole[:-digits]}.{whole[-digits:]}" if digits else whole)
    return f"{value.numerator}/{value.denominator}"


def converted(value: Fraction, source: str, target: str) -> Fraction:
    """The value in the target unit. ToolError where a unit is unknown, or where the two measure different things."""
    one, other = unit(source), unit(target)
    if one.powers != other.powers:
        raise ToolError(f"{source} and {target} measure different things")
    return value * one.size / other.size


def convert(scene: Scene, conversion: str) -> str:
    """The tool."""
    asked = _ASKED.fullmatch(conversion) if len(conversion) <= 4 * _LONGEST else None
    if asked is None:
        raise ToolError("expected a value, its unit, `to` and another unit, as in `3 km/h to m/s`")
    told = exact(converted(number(asked[1]), asked[2], asked[3]))
    if len(told) > _LONGEST:
        raise ToolError("the value has too many digits")
    return told


CONVERT = (takes_text("convert", "conversion", ABOUT), convert)
"""The tool with what runs it, for a world of tools."""
