"""Numbers as people write them: with currencies, units, percent signs and mixed fractions, as exact values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from assay.verify import arithmetic
from assay.verify.arithmetic import Number, TooBig, Unreadable

_CURRENCY = re.compile(r"^[€£¥₹]\s*|^(?:USD|EUR|US)\s+", re.IGNORECASE)
_UNITS = {
    "m", "cm", "mm", "km", "g", "kg", "mg", "s", "h", "min", "l", "ml", "ft", "in", "lb", "oz", "mph", "kmh", "hz",
    "j", "w", "v", "pa", "hr", "hrs", "sec", "yd", "mi",
}  # fmt: skip
_NOT_UNITS = {
    "and", "or", "pi", "dozen", "dozens", "hundred", "hundreds", "thousand", "thousands", "million", "millions",
    "billion", "billions", "trillion", "half", "third", "thirds", "quarter", "quarters", "percent", "squared", "cubed",
    "factorial", "times", "plus", "minus", "over", "mod", "choose", "to", "not", "less", "more", "fewer", "twice",
}  # fmt: skip
_UNIT = re.compile(
    r"^(?P<value>.*?[\d})!%])\s*(?:\\text\s*\{\s*(?P<text>[^{}]*)\}|(?<=[\s\d}])(?P<word>[a-zA-Z]{2,}(?:[ /][a-zA-Z]+)*"
    r"|(?<=\s)[a-zA-Z]))\s*(?P<power>\^\s*\{?\s*[23]\s*\}?)?$"
)
_CIRC = re.compile(r"\s*\^\s*\\circ\s*$")


@dataclass(frozen=True)
class Quantity:
    number: Number | None  # None: too big to be worked out
    unit: str = ""

    @property
    def big(self) -> bool:
        return self.number is None

    def margin(self, *, digits: int) -> Fraction | None:
        """Half a unit of the last digit, where at least so many significant digits were declared by a decimal."""
        if self.number is None or self.number.place is None or self.number.place >= 0 or not self.number.value:
            return None
        unit = Fraction(10) ** self.number.place / (100 if self.number.percent else 1)
        return unit / 2 if len(str(abs(int(self.number.value / unit)))) >= digits else None


def quantity(text: str) -> Quantity | None:
    """A number with what it counts; None where there is none."""
    text = _CURRENCY.sub("", text)
    unit = ""
    if _CIRC.search(text):
        text, unit = _CIRC.sub("", text), "degree"
    elif (match := _UNIT.match(text)) and (unit := _unit_name(match)):
        text = match["value"].strip()
    if found := arithmetic.plain_number(text):
        return Quantity(found, unit)
    if mixed := re.fullmatch(r"(-?)(\d{1,20})\s+(\d{1,20})\s*/\s*(\d{1,20})", text):
        text = rf"{mixed[1]}{mixed[2]}\frac{{{mixed[3]}}}{{{mixed[4]}}}"
    percent = text.endswith("%")
    try:
        value = arithmetic.number_of(arithmetic.parse(text.rstrip("%")))
    except Unreadable:
        return None
    except TooBig:
        return Quantity(None, unit)
    return None if value is None else Quantity(Number(value / 100 if percent else value, percent=percent), unit)


def _unit_name(match: re.Match[str]) -> str:
    """Words after a number are what it counts; single letters only those that are units."""
    name = " ".join((match["text"] or match["word"] or "").split()).strip(" .").casefold()
    letters = re.sub("[^a-z]", "", name)
    if not letters or (len(letters) < 3 and letters not in _UNITS) or _NOT_UNITS & set(name.split()):
        return ""
    power = re.sub(r"\D", "", match["power"] or "")
    return ("dollar" if letters in ("dollars", "dollar", "usd") else name.removesuffix("s")) + power


def percent_left_out(gold: Number, answer: Number) -> bool:
    """`50` for `50%`, and `50%` for `50`; not `0.5%` for `0.5`, which may mean a half."""
    if gold.percent:
        return answer.value == gold.value * 100
    return abs(gold.value) >= 1 and answer.value * 100 == gold.value


def terminates(value: Fraction) -> bool:
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest == 1
