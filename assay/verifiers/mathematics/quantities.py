"""Reads numbers and expressions with currencies, units and percent signs, and numbers in words.

In an answer, only units that are known here may follow a number: `5 tenths` and `5 is
wrong` are not 5. A gold is trusted: any words behind its number are taken for its unit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from assay.verifiers.mathematics import arithmetic
from assay.verifiers.mathematics.arithmetic import number_of
from assay.verifiers.mathematics.expressions import Number, TooBig, Tree, Unreadable, parse, plain_number
from assay.verifiers.mathematics.words import MULTIPLES, denied, in_words


@dataclass(frozen=True)
class Unit:
    """A unit: the powers of its dimensions, and its size.

    Example:
        unit("km / h")  # Unit((("length", 1), ("time", -1)), Fraction(5, 18)), in metres and seconds
    """

    powers: tuple[tuple[str, int], ...] = ()
    factor: Fraction = Fraction(1)  # its size in the base units of its dimensions

    def __str__(self) -> str:
        return " ".join(name if power == 1 else f"{name}^{power}" for name, power in self.powers)


@dataclass(frozen=True)
class Quantity:
    """A number or an expression, perhaps with a unit.

    Example:
        quantity("5 cm")  # Quantity(("number", 5), Number(5), unit("cm"))
    """

    tree: Tree | None  # None: too big to be worked out
    number: Number | None = None  # its exact value, if it is rational
    unit: Unit | None = None
    percent: bool = False

    @property
    def big(self) -> bool:
        return self.tree is None

    def scaled(self, factor: Fraction) -> Quantity:
        """The quantity in a unit that is `factor` times smaller. The result does not count as a rounded decimal."""
        if factor == 1 or self.tree is None:
            return self
        number = Number(self.number.value * factor, percent=self.number.percent) if self.number else None
        return Quantity(("*", self.tree, ("number", factor)), number, self.unit, self.percent)


# --- units --------------------------------------------------------------------------------------------------

_MEASURES = {
    "length": {
        "m meter meters metre metres": 1, "cm centimeter centimeters centimetre centimetres": "1/100",
        "mm millimeter millimeters": "1/1000", "km kilometer kilometers kilometre kilometres": 1000, "dm": "1/10",
        "in inch inches": "127/5000", "ft foot feet": "381/1250", "yd yds yard yards": "1143/1250",
        "mi mile miles": "201168/125",
    },
    "mass": {
        "g gram grams": 1, "kg kilogram kilograms": 1000, "mg milligram milligrams": "1/1000", "ton tons tonnes": 10**6,
        "lb lbs pound pounds": "45359237/100000", "oz ounce ounces": "45359237/1600000",
    },
    "time": {
        "s sec secs second seconds": 1, "min mins minute minutes": 60, "h hr hrs hour hours": 3600, "day days": 86400,
        "week weeks": 604800, "ms": "1/1000",
    },
    "month": {"month months": 1, "yr yrs year years": 12, "decade decades": 120},
    "money": {"dollar dollars usd": 1, "cent cents": "1/100", "nickel nickels": "1/20", "dime dimes": "1/10"},
    "euro": {"euro euros eur": 1}, "pence": {"pence": 1}, "sterling": {"sterling": 1}, "yen": {"yen": 1},
    "yuan": {"yuan rmb": 1}, "rupee": {"rupee rupees": 1},
    "volume": {
        "l liter liters litre litres": 1, "ml milliliter milliliters": "1/1000", "cup cups": "473176473/2000000000",
        "gallon gallons": "473176473/125000000", "quart quarts": "473176473/500000000",
        "pint pints": "473176473/1000000000",
    },
    "angle": {"degree degrees deg": 1}, "radian": {"radian radians rad": 1},
    "newton": {"n newton newtons": 1}, "joule": {"j joule joules": 1, "kj": 1000},
    "watt": {"w watt watts": 1, "kw": 1000}, "volt": {"v volt volts": 1},
    "ampere": {"ampere amperes amps": 1}, "pascal": {"pa": 1, "kpa": 1000},
    "hertz": {"hz": 1, "khz": 1000}, "ohm": {"ohm ohms": 1}, "kelvin": {"kelvin": 1}, "mole": {"mol moles": 1},
}  # fmt: skip
_KNOWN = {
    name: (dimension, Fraction(factor))
    for dimension, names in _MEASURES.items()
    for written, factor in names.items()
    for name in written.split()
}
_COUNTED_WORDS = """
    apple apples ball balls book books box boxes candies car cars card cards child children coin coins
    cookie cookies digit digits element elements face faces friend friends game games integer integers item
    items marble marbles page pages path paths pencil pencils people person persons point points question
    questions root roots sequence sequences shirt shirts side sides solution solutions square squares step
    steps student students team teams term terms ticket tickets tree trees triangle triangles value values
    way ways word words worker workers edge edges vertex vertices pair pairs arrangement arrangements
    combination combinations permutation permutations subset subsets pizza pizzas row rows boy boys girl
    girls men women man woman dog dogs cat cats animal animals flower flowers pieces piece slices slice
    rounds round lap laps trip trips
"""
_COUNTED = frozenset(_COUNTED_WORDS.split())
_UNITLESS = ("unit", "units", "square", "cubic", "sq", "cu", "old", "long", "wide", "tall", "high", "deep")
_COMPOUND = {"mph": "mile / hour", "kph": "km / h", "kmh": "km / h", "fps": "ft / s"}
_SPOKEN = [
    (re.compile(r"\bper\b"), "/"),
    (re.compile(r"\b(?:square|sq)\b\.?\s*([a-z]+)"), r"\1^2"),
    (re.compile(r"\b(?:cubic|cu)\b\.?\s*([a-z]+)"), r"\1^3"),
    (re.compile(r"\s+squared\b"), "^2"),
    (re.compile(r"\s+cubed\b"), "^3"),
    (re.compile(r"\s*\^\s*\{?\s*(-?\d)\s*\}?"), r"^\1 "),
]
LONGEST_UNIT = 60
_PIECE = re.compile(r"([a-z]+)(?:\^(-?\d))?")


def unit(name: str, *, trusted: bool = False) -> Unit | None:
    """The unit of a name such as `cm^2`, `square feet` or `miles per hour`; None if a part of it is unknown.

    If the name is trusted, because it stands in a gold, unknown words are a unit of their own.
    """
    text = name.strip().casefold()
    text = _COMPOUND.get(text, text)
    for pattern, plain in _SPOKEN:
        text = pattern.sub(plain, text)
    powers: dict[str, int] = {}
    factor = Fraction(1)
    if len(text) > LONGEST_UNIT:
        return None
    for below, chunk in enumerate(text.split("/")):
        for written in re.split(r"(?:[\s.*]|\\cdot|\\ |(?<=[a-z])-(?=[a-z]))+", chunk.strip(" .")):
            piece = _PIECE.fullmatch(written)
            if piece is None or (base := _known(piece[1])) is None:
                return _any(name) if trusted else None
            power = int(piece[2] or 1) * (-1 if below else 1)
            powers[base[0]] = powers.get(base[0], 0) + power
            factor *= base[1] ** power
    powers.pop("", None)
    if not all(powers.values()):  # hours per second: a number, but not the one that stands before it
        return _any(name) if trusted else None
    return Unit(tuple(sorted(powers.items())), factor)


def _known(word: str) -> tuple[str, Fraction] | None:
    """(the dimension, the size in its base unit) of a word; None if it is
    unknown. Words like `units` have no dimension.
    """
    if word in _UNITLESS:
        return "", Fraction(1)
    return _KNOWN.get(word) or ((word.removesuffix("s"), Fraction(1)) if word in _COUNTED else None)


def _any(name: str) -> Unit | None:
    words = " ".join(re.sub(r"[^\w]+", " ", name).split()).casefold()
    return Unit(((words.removesuffix("s"), 1),)) if words and not denied(words) else None


# --- quantities ---------------------------------------------------------------------------------------------

_CURRENCY = re.compile(r"^(-?)\s*(?:(\\(?:dollar|euro|sterling|yen|rupee))(?![a-zA-Z])|(USD|EUR)\s)\s*")
_TRAIL = re.compile(
    r"^(?P<value>.*?[\d})\]!%|])\s*(?P<unit>(?!/)(?:(?:\\text\s*\{[^{}]*\}|(?<=[\s\d}/])[a-zA-Z]{2,}\.?|(?<=\s)[mghs](?![a-zA-Z])|(?<=/)\s*[a-zA-Z]|per|/)"
    r"\s*(?:\^\s*(?:\{\s*-?\d\s*\}|\d))?\s*(?:\\cdot)?\s*)+)$"
)
_BEHIND = re.compile(r"^(?P<value>.*?[\d})])\s*\\(?P<unit>dollar|euro|sterling|yen|rupee)$")
_CIRC = re.compile(r"\s*\^\s*\\circ\s*(?:(?:\\text\s*\{\s*)?([CF])(?:\s*\})?)?\s*$")


def quantity(text: str, *, trusted: bool = False) -> Quantity | None:
    """A number or expression with its unit; None if the text is neither. `trusted`: the text is a gold."""
    text = text.strip()
    if (number := in_words(text)) is not None:
        return Quantity(("number", Fraction(number)), Number(Fraction(number)))
    counted: Unit | None = None
    if money := _CURRENCY.match(text):
        text = money[1] + re.sub(r"(?<=\d)\s*/\s*(?=[a-z]{2,})", " per ", text[money.end() :])
        counted = unit((money[2] or money[3]).strip("\\"))
    elif behind := _BEHIND.match(text):
        text, counted = behind["value"], unit(behind["unit"])
    if (circ := _CIRC.search(text)) and not re.search(r"\\(?:sin|cos|tan|cot|sec|csc|pi)(?![a-zA-Z])", text):
        text = _CIRC.sub("", text)
        counted = Unit(((f"degree {circ[1]}" if circ[1] else "angle", 1),))
    many = Fraction(1)
    if counted is None or money:
        text, many, named = _counted(text, trusted, (money[2] or money[3]).strip("\\") if money else "")
        counted = named or counted
    value = _value(text)
    return None if value is None else Quantity(value.tree, value.number, counted, value.percent).scaled(many)


def _counted(text: str, trusted: bool, money: str) -> tuple[str, Fraction, Unit | None]:
    """(the number, the factor of a word like `million`, the unit). The unit of `\\$5 per hour` is dollars per hour."""
    match = _TRAIL.match(text)
    if match is None:
        return text, Fraction(1), None
    words = re.sub(r"\\text\s*\{([^{}]*)\}", r" \1 ", match["unit"]).strip()
    many = Fraction(1)
    first, _, rest = words.partition(" ")
    if first.casefold() in MULTIPLES and plain_number(match["value"]):
        many, words = Fraction(MULTIPLES[first.casefold()]), rest.strip()
    if re.fullmatch(r"(?:percent(?:age)?|pct|per\s?cent)\.?", words.casefold()):
        return match["value"].strip() + "%", many, None
    words = f"{money} {words}" if money and words else words
    counted = unit(words, trusted=trusted and "\\text" in match["unit"] + " " * (" " in words)) if words else Unit()
    if counted is None and trusted and re.fullmatch(r"(?:\s*[a-zA-Z]{3,}\.?)+", words):
        counted = _any(words)
    if counted is None or (words.casefold() in MULTIPLES and many == 1):
        return text, Fraction(1), None
    return match["value"].strip(), many, counted if counted.powers else None


def _value(text: str) -> Quantity | None:
    if found := plain_number(text):
        return Quantity(("number", found.value), found, percent=found.percent)
    if mixed := re.fullmatch(r"(-?)\s*(\d{1,20})\s+(?:and\s+)?(\d{1,20})\s*/\s*(\d{1,20})", text):
        text = rf"{mixed[1]}{mixed[2]}\frac{{{mixed[3]}}}{{{mixed[4]}}}"
    percent = text.endswith("%")
    try:
        tree = parse(text.removesuffix("%"))
        tree = ("/", tree, ("number", Fraction(100))) if percent else tree
        value = number_of(tree)
    except Unreadable:
        return None
    except TooBig:
        return Quantity(None)
    return Quantity(tree, None if value is None else Number(value, percent=percent), percent=percent)


def percent_left_out(gold: Number, answer: Number) -> bool:
    """Whether one number is the other without its percent sign: `50` for `50%`, or `50%` for `50`.

    `0.5%` is not accepted for `0.5`, because `0.5` may mean a half.
    """
    if gold.percent:
        return answer.value == gold.value * 100
    return abs(gold.value) >= 1 and answer.value * 100 == gold.value


def rounds_to(value: Fraction, shown: Number) -> bool | None:
    """Whether `value`, which must be no finite decimal, rounds to the digits that are shown, at least three of them.

    None if `value` is a finite decimal, or if `shown` has too few digits.
    """
    bounds = shown_bounds(shown)
    if bounds is None or arithmetic.terminates(value):
        return None
    return bounds[0] <= value <= bounds[1]


def shown_bounds(shown: Number, *, digits: int = 3) -> tuple[Fraction, Fraction] | None:
    """The lowest and the highest number that a decimal can be the rounded value of; None if it has fewer than `digits`
    significant digits.
    """
    if shown.place is None or not shown.value or shown.digits < digits:
        return None
    unit = Fraction(10) ** shown.place / (100 if shown.percent else 1)
    if shown.cut:
        return (shown.value, shown.value + unit) if shown.value > 0 else (shown.value - unit, shown.value)
    return shown.value - unit / 2, shown.value + unit / 2
