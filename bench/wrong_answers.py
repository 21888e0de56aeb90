"""Pairs of a gold and a wrong answer, by the thousand: golds crossed with others, and golds that a small change spoils.

Each gold has its value beside it, written by hand in Python: two golds are crossed only if these differ. A change is
one of those that make another answer of every gold of their kind.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

E, PI = math.e, math.pi
X, Y = 0.7390851, 1.9054327  # where expressions of x and y have their values


@dataclass(frozen=True)
class Gold:
    text: str
    value: object
    kind: str


@dataclass(frozen=True)
class Wrong:
    gold: str
    answer: str
    by: str  # which change, or `crossed`


NUMBERS = [
    ("7", 7), ("42", 42), ("-3", -3), ("128", 128), ("1,234", 1234), (r"10,\!080", 10080), ("2016", 2016),
    ("0.25", 0.25), ("2.5", 2.5), ("-1.75", -1.75), ("3.17", 3.17), ("0.0625", 0.0625), ("98.6", 98.6),
    (r"\frac{1}{3}", 1 / 3),
    (r"\frac{27}{11}", 27 / 11), (r"-\frac{7}{8}", -7 / 8), (r"\dfrac{13}{17}", 13 / 17), (r"3\frac{1}{2}", 3.5),
    (r"\frac{2}{35}", 2 / 35), (r"0.\overline{3}", 1 / 3), (r"2^{10}", 1024), ("5!", 120),
    (r"6.02\times 10^{23}", 6.02e23), (r"\sqrt{2}", 2**0.5), (r"2\sqrt{3}", 2 * 3**0.5),
    (r"\frac{\sqrt{3}}{2}", 3**0.5 / 2), (r"1+2\sqrt{3}", 1 + 2 * 3**0.5), (r"\sqrt[3]{7}", 7 ** (1 / 3)),
    (r"\frac{1+\sqrt{5}}{2}", (1 + 5**0.5) / 2), (r"\frac{\sqrt{6}-\sqrt{2}}{4}", (6**0.5 - 2**0.5) / 4),
    (r"5\sqrt{29}-\sqrt{31}", 5 * 29**0.5 - 31**0.5), (r"\pi", PI), (r"\frac{\pi}{4}", PI / 4), (r"12\pi", 12 * PI),
    (r"\frac{7\pi}{12}", 7 * PI / 12), (r"4\pi\sqrt{3}", 4 * PI * 3**0.5), (r"e^{2}", E**2), (r"\ln 2", math.log(2)),
    (r"1-\frac{1}{e}", 1 - 1 / E), (r"\log_{2} 5", math.log2(5)), (r"\arctan 2", math.atan(2)), (r"3+4i", 3 + 4j),
    (r"-2i", -2j), (r"\frac{3}{4}+\frac{5}{4}i", 0.75 + 1.25j), (r"\sqrt{2}+\sqrt{7}", 2**0.5 + 7**0.5),
    (r"9\sqrt{19}", 9 * 19**0.5), (r"\frac{11\sqrt{7}}{26}", 11 * 7**0.5 / 26), (r"2^{1/3}", 2 ** (1 / 3)),
]  # fmt: skip
FUNCTIONS = [
    ("x^2+3y", X**2 + 3 * Y), ("2x-5y", 2 * X - 5 * Y), (r"\frac{x}{y+1}", X / (Y + 1)), ("x^3-y", X**3 - Y),
    (r"(x+2)(x-7)y", (X + 2) * (X - 7) * Y), (r"\sqrt{x}+y", X**0.5 + Y), (r"\sin x+2y", math.sin(X) + 2 * Y),
    (r"xe^{y}", X * E**Y), (r"\frac{3x-y}{5}", (3 * X - Y) / 5), (r"\pi x^2 y", PI * X**2 * Y),
    (r"x\ln y", X * math.log(Y)), (r"x-y", X - Y), (r"\frac{x^2}{4}+\frac{y^2}{9}", X**2 / 4 + Y**2 / 9),
    (r"7x^4 y^2", 7 * X**4 * Y**2), (r"\cos 3x-y", math.cos(3 * X) - Y), (r"2^{x}+y", 2**X + Y),
]  # fmt: skip
LISTS = [
    (r"2, 5, 9", {2, 5, 9}), (r"\{1, 4, 6\}", {1, 4, 6}), (r"-3, \frac{1}{2}", {-3, 0.5}),
    (r"\sqrt{2}, 7", {2**0.5, 7}), (r"\{-2, 3\}", {-2, 3}), (r"1, 2, 3, 5", {1, 2, 3, 5}),
    (r"\frac{1}{3}, \frac{5}{3}, 8", {1 / 3, 5 / 3, 8}), ("3,14", {3, 14}), ("12; 5", {12, 5}), ("25,75", {25, 75}),
]  # fmt: skip
TUPLES = [
    ("(3, -2)", (3, -2)), (r"\left(\frac{1}{2}, 4\right)", (0.5, 4)), ("(1, 2, 6)", (1, 2, 6)),
    (r"(2, \sqrt{5})", (2, 5**0.5)), ("(-1, 7, 0.5)", (-1, 7, 0.5)), ("(0, 9)", (0, 9)),
    ("(4; 7)", (4, 7)), ("(2;5;9)", (2, 5, 9)), (r"(\frac{1}{3}; 6)", (1 / 3, 6)),
]  # fmt: skip
INTERVALS = [
    ("[2, 5)", "[2,5)"), (r"(-\infty, 3]", "(-oo,3]"), (r"\left[-\frac{1}{2}, 4\right]", "[-.5,4]"),
    ("(1, 8]", "(1,8]"), (r"[0, \infty)", "[0,oo)"), (r"(-\infty, -2)\cup[6, \infty)", "(-oo,-2)u[6,oo)"),
]  # fmt: skip
FAMILIES = [
    (r"2k\pi, k \in \mathbb{Z}", ("2k pi", "Z")), (r"x = \frac{\pi}{6}+3n\pi, n \in Z", ("pi/6+3n pi", "Z")),
    (r"5m+2, m \in \mathbb{N}", ("5m+2", "N")), (r"\frac{k\pi}{4}, k \in \mathbb{Z}^+", ("k pi/4", "Z+")),
]  # fmt: skip
MEASURES = [
    ("cm", "5"), ("m", "12"), ("km", "3"), ("feet", "20"), ("inches", "7"), ("hours", "4"), ("minutes", "35"),
    ("dollars", "18"), ("kg", "2.5"), ("square meters", "40"), ("degrees", "60"), ("miles per hour", "55"),
]  # fmt: skip
BASES = [("101", 2), ("204", 5), ("1210", 3), ("746", 8), ("2A5", 16), ("3341", 6)]
MATRICES = [
    r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}", r"\begin{pmatrix} 5 \\ -7 \\ 2 \end{pmatrix}",
    r"\begin{pmatrix} \frac{1}{2} & 6 \\ 8 & 9 \end{pmatrix}",
]  # fmt: skip
RELATIONS = ["x > 5", r"x \leq -2", r"1 < x \leq 6", r"x \geq \frac{3}{4}", "y = 2x+3", "x^2+y^2 = 25", "3x - 4y = 12"]


def golds() -> list[Gold]:
    kinds = {"number": NUMBERS, "function": FUNCTIONS, "list": LISTS, "tuple": TUPLES, "interval": INTERVALS}
    kinds["family"] = FAMILIES
    found = [Gold(text, value, kind) for kind, rows in kinds.items() for text, value in rows]
    found += [Gold(rf"{count}\text{{ {name}}}", (count, name), "measure") for name, count in MEASURES]
    found += [Gold(f"{digits}_{{{base}}}", (digits, base), "base") for digits, base in BASES]
    found += [Gold(text, text, "matrix") for text in MATRICES]
    return found + [Gold(text, text, "relation") for text in RELATIONS]


# --- changes ------------------------------------------------------------------------------------------------


def _digit(gold: Gold, draw: random.Random) -> str | None:
    """Another digit in one place; not in what a zero or a one would make nothing of, nor in a value that returns."""
    places = [match.start() for match in re.finditer(r"\d", gold.text)]
    if not places or re.search(r"arc|log", gold.text):
        return None
    place = draw.choice(places)
    digit = draw.choice([d for d in "23456789" if d != gold.text[place]])
    return gold.text[:place] + digit + gold.text[place + 1 :]


def _signed(gold: Gold, _: random.Random) -> str:
    return f"-({gold.text})"


def _squared(gold: Gold, _: random.Random) -> str:
    return rf"\left({gold.text}\right)^{{2}}"


def _times(gold: Gold, draw: random.Random) -> str:
    factor = draw.choice(["2", "10", "3", "7", r"\pi", r"\sqrt{2}"])
    return rf"{factor}\left({gold.text}\right)"


def _more(gold: Gold, draw: random.Random) -> str:
    return f"{gold.text}{draw.choice('+-')}10^{{-{draw.choice([9, 15, 20, 40, 100])}}}"


def _spoken(gold: Gold, draw: random.Random) -> str:
    behind = (
        r"\text{ is wrong}",
        " tenths",
        " gross",
        " or 17",
        ", 17",
        r"\text{ times two}",
        " k",
        "!!",
        r"\text{ mod } 9",
    )
    return gold.text + draw.choice(behind)


def _longer(gold: Gold, draw: random.Random) -> str | None:
    """A decimal with a digit more is another number."""
    return f"{gold.text}{draw.choice('123456789')}" if re.fullmatch(r"-?\d+\.\d+", gold.text) else None


def _swapped(gold: Gold, _: random.Random) -> str:
    return re.sub(r"(?<![\\a-z])[xy](?![a-z])", lambda m: {"x": "y", "y": "x"}[m[0]], gold.text)


def _cased(gold: Gold, draw: random.Random) -> str | None:
    letters = sorted(set(re.findall(r"(?<![\\a-zA-Z{])[a-z](?![a-z])", re.sub(r"\\[a-z]+", " ", gold.text))))
    if not letters:
        return None
    letter = draw.choice(letters)
    return re.sub(rf"(?<![\\a-zA-Z]){letter}(?![a-zA-Z])", letter.upper(), gold.text)


def _unit(gold: Gold, draw: random.Random) -> str:
    assert isinstance(gold.value, tuple)
    count, name = gold.value
    others = [other for other, _ in MEASURES if other != name] + ["cents", "radians", "apples", "tons", "cm^2"]
    return rf"{count}\text{{ {draw.choice(others)}}}"


def _base(gold: Gold, draw: random.Random) -> str:
    assert isinstance(gold.value, tuple)
    digits, base = gold.value
    other = draw.choice([b for b in (2, 3, 5, 6, 7, 8, 9, 12, 16) if b != base])
    return draw.choice([digits, f"{digits}_{{{other}}}", f"{digits[::-1]}1_{{{base}}}"])


def _bracket(gold: Gold, draw: random.Random) -> str:
    """Another end; what is infinite has none."""
    ends = re.finditer(r"[\[(](?!-?\\infty)|(?<!infty)[\])]", gold.text)
    place = draw.choice([match.start() for match in ends])
    return gold.text[:place] + {"(": "[", "[": "(", ")": "]", "]": ")"}[gold.text[place]] + gold.text[place + 1 :]


def _fenced(text: str) -> tuple[str, str, str]:
    """(what opens a list, its items, what closes it)."""
    match = re.fullmatch(r"(\\\{|\\left\(|\(|)(.*?)(\\\}|\\right\)|\)|)", text)
    assert match is not None
    return match[1], match[2], match[3]


def _dropped(gold: Gold, draw: random.Random) -> str:
    """One item fewer."""
    opened, inner, closed = _fenced(gold.text)
    mark = _mark(inner)
    items = inner.split(mark)
    items.pop(draw.randrange(len(items)))
    return opened + mark.join(items) + closed


def _added(gold: Gold, draw: random.Random) -> str:
    mark = _mark(gold.text)
    return re.sub(r"(\\\}|\\right\)|\)|)$", lambda m: f"{mark} {draw.randint(20, 99)}{m[0]}", gold.text, count=1)


def _turned(gold: Gold, _: random.Random) -> str:
    """The order of a tuple."""
    opened, inner, closed = _fenced(gold.text)
    return opened + _mark(inner).join(inner.split(_mark(inner))[::-1]) + closed


def _mark(inner: str) -> str:
    """What separates the items."""
    return ";" if ";" in inner else ","


def _otherwise_fenced(gold: Gold, draw: random.Random) -> str | None:
    """A set in the brackets of a tuple or an interval, a tuple in those of a set. A list without brackets stays."""
    opened, inner, _ = _fenced(gold.text)
    if not opened:
        return None
    return rf"\{{{inner}\}}" if "(" in opened else draw.choice(["({})", "[{})", "({}]"]).format(inner)


def _one_number(gold: Gold, draw: random.Random) -> str | None:
    """Two numbers as one: with a point between them, or with nothing."""
    opened, inner, _ = _fenced(gold.text)
    parts = re.fullmatch(r"(\d+)[,;]\s?(\d+)", inner)
    return f"{parts[1]}{draw.choice(['.', ''])}{parts[2]}" if parts and not opened else None


def _range(gold: Gold, draw: random.Random) -> str:
    """Another range of the letter."""
    body, _, letter = gold.text.rpartition(", ")
    assert isinstance(gold.value, tuple)
    named = {"Z": r"\mathbb{Z}", "N": r"\mathbb{N}", "Z+": r"\mathbb{Z}^+", "Q": r"\mathbb{Q}", "R": r"\mathbb{R}"}
    other = draw.choice([text for name, text in named.items() if name != gold.value[1]])
    return rf"{body}, {letter[0]} \in {other}"


def _related(gold: Gold, draw: random.Random) -> str:
    """Another sign between the sides."""
    signs = {"<": ">", ">": "<", "=": "<", r"\leq": "<", r"\geq": ">"}
    found = draw.choice(list(re.finditer(r"\\leq|\\geq|[<>=]", gold.text)))
    return gold.text[: found.start()] + signs[found[0]] + gold.text[found.end() :]


Change = Callable[[Gold, random.Random], str | None]
_VALUE: dict[str, Change] = {
    "sign": _signed, "exponent": _squared, "factor": _times, "a little more": _more, "words behind": _spoken,
}  # fmt: skip
CHANGES: dict[str, dict[str, Change]] = {
    "number": {"digit": _digit, "another digit": _longer, "case": _cased, **_VALUE},
    "function": {"digit": _digit, "swapped": _swapped, "case": _cased, **_VALUE},
    "list": {
        "digit": _digit,
        "dropped": _dropped,
        "added": _added,
        "other brackets": _otherwise_fenced,
        "one number": _one_number,
    },
    "tuple": {
        "digit": _digit,
        "dropped": _dropped,
        "added": _added,
        "turned": _turned,
        "other brackets": _otherwise_fenced,
    },
    "family": {"digit": _digit, "range": _range},
    "interval": {"bracket": _bracket, "digit": _digit},
    "measure": {"unit": _unit, "digit": _digit},
    "base": {"base": _base},
    "matrix": {"digit": _digit},
    "relation": {"digit": _digit, "case": _cased, "sign between": _related},
}


def differ(one: object, other: object) -> bool:
    """Whether two values written by hand are surely different."""
    if isinstance(one, int | float | complex) and isinstance(other, int | float | complex):
        return abs(one - other) > 1e-4 * max(1, abs(one), abs(other))
    return one != other


def pairs(count: int, seed: int) -> Iterator[Wrong]:
    """So many pairs, half of them crossed."""
    draw = random.Random(seed)
    everything = golds()
    made, seen = 0, set()
    while made < count:
        gold = draw.choice(everything)
        if made % 2:
            other = draw.choice(everything)
            if not differ(gold.value, other.value) or _alike(gold, other):
                continue
            wrong = Wrong(gold.text, other.text, "crossed")
        else:
            name, change = draw.choice(sorted(CHANGES[gold.kind].items()))
            answer = change(gold, draw)
            if answer is None or answer == gold.text:
                continue
            wrong = Wrong(gold.text, answer, name)
        if (wrong.gold, wrong.answer) not in seen:
            seen.add((wrong.gold, wrong.answer))
            made += 1
            yield wrong


def _alike(one: Gold, other: Gold) -> bool:
    """Kinds whose members may say one thing: an inequality an interval, a measure its bare number, a tuple its list."""
    near = ({"interval", "relation"}, {"measure", "number"}, {"interval", "tuple"}, {"list", "tuple"})
    return {one.kind, other.kind} in near
