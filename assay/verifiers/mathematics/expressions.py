"""Reads expressions, in LaTeX or plain text, into trees by a small grammar.

A tree is `(operation, operands ...)`. `e`, `i` and `\\pi` are constants; every other letter is a symbol and keeps its
case. Size and depth of a tree are limited, and nothing is evaluated here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

MOST_NODES = 500
DEEPEST = 50
HIGHEST = 150  # levels of a tree: a sum has one for each term, and a function that walks the tree calls itself for each
MOST_DIGITS = 1_000  # of a literal number
MOST_POWER = 25_000  # the largest exponent of ten in a literal number

Tree = tuple[Any, ...]


class Unreadable(Exception):
    """The text is not an expression of this grammar."""


class TooBig(Exception):
    """The expression has a number too big to be worked out."""


@dataclass(frozen=True)
class Number:
    """The exact value of a literal number, and how it was written.

    Example:
        plain_number("3.14")  # Number(Fraction(157, 50), place=-2)
        plain_number("50%")  # Number(Fraction(1, 2), percent=True)
    """

    value: Fraction
    place: int | None = None  # the power of ten of the last written digit, if it was written as a decimal
    percent: bool = False
    cut: bool = False  # whether an ellipsis follows: 0.333... shows the first digits of a longer number

    @property
    def digits(self) -> int:
        """How many significant digits a decimal shows."""
        assert self.place is not None
        return len(str(abs(int(self.value * (100 if self.percent else 1) / Fraction(10) ** self.place))))


_DIGITS = r"(?:[1-9]\d{0,2}(?:,\d{3})+(?!\d)|[1-9]\d{0,2}(?:[ ]\d{3})+(?!\d)|\d+)"
_DOTTED = r"\\dot\s*(?:\{\d\}|\d)"
_CYCLE = rf"(?:\d*\.\d*(?:\\(?:overline|bar)\s*(?:\{{\d+\}}|\d)|{_DOTTED}(?:\d*{_DOTTED})?)|(?:0?\.\d*|\d+\.)\(\d+\))"
_TOKEN = re.compile(
    rf"\s*(?:(?P<repeat>{_CYCLE})"
    rf"|(?P<number>(?:{_DIGITS}(?:\.\d+|\.(?=[-+*/)]))?|\.\d+)(?:[eE][+-]?\d{{1,6}}(?![\d.a-zA-Z]))?)"
    r"|(?P<named>\\(?:overline|bar|hat|vec|overrightarrow|tilde|mathcal|mathbb)\s*(?:\{[a-zA-Z]{1,4}\}|[a-zA-Z])"
    r"|\\text\s*\{\s*[a-zA-Z]\s*\})"
    r"|(?P<command>\\(?:[a-zA-Z]+|\|))"
    r"|(?P<symbol>[a-zA-Z])"
    r"|(?P<below>_\s*(?:[a-zA-Z0-9]|\{[^{}]{1,20}\}))"
    r"|(?P<prime>'+)"
    r"|(?P<operator>\*\*|[-+*/^!(){}\[\]|%_]))"
)
_LETTERS = """
    alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi rho sigma
    tau upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega ell infty hbar
"""
_GREEK = frozenset(_LETTERS.split())
_UNARY = "sin cos tan cot sec csc arcsin arccos arctan arccot sinh cosh tanh coth ln exp"
FUNCTIONS = frozenset(_UNARY.split())  # of one argument, beside the logarithms to a base
_INVERSE = {"sin": "arcsin", "cos": "arccos", "tan": "arctan", "cot": "arccot"}
_FENCES = {
    "(": ")", "{": "}", "[": "]", "|": "|", r"\lvert": r"\rvert", r"\lfloor": r"\rfloor", r"\lceil": r"\rceil",
}  # fmt: skip
_FENCED = {"|": "abs", r"\lvert": "abs", r"\lfloor": "floor", r"\lceil": "ceil"}
_TIMES = ("*", r"\times", r"\cdot", r"\ast")
INFINITY = ("symbol", r"\infty")
BASE = ("symbol", r"\log")  # the base of a logarithm that names none: an unknown, so that no base is assumed


def spelled(tree: Tree) -> str:
    """A tree as text. Different trees give different texts, however large their numbers are."""
    if tree[0] == "number":
        return f"{tree[1].numerator:x}/{tree[1].denominator:x}"
    return f"({' '.join(part if isinstance(part, str) else spelled(part) for part in tree)})"


def plain_number(text: str) -> Number | None:
    """A literal number: integer, decimal, scientific, with groups of thousands,
    a sign, a percent sign. None for others.
    """
    text = text.strip()
    percent = text.endswith("%")
    body = text.removesuffix("%").strip()
    sign = -1 if body.startswith("-") else 1
    body = body.lstrip("+-").strip() if body[:1] in ("+", "-") else body
    if cut := re.fullmatch(r"(\d*\.\d+)\s*(?:\.\.\.|…|\\[lc]?dots)", body):
        body = cut[1]
    if re.fullmatch(r"\d{1,3}(?:\.\d{3})+,\d+", body):  # 1.234,5; a lone comma may separate two numbers
        body = body.replace(".", "").replace(",", ".")
    body = re.sub(r"\s*(?:\\times|\\cdot|\*)\s*10\s*\^\s*(?:\{\s*([+-]?\d{1,6})\s*\}|([+-]?\d))$", r"e\1\2", body)
    match = re.fullmatch(rf"(?P<digits>{_DIGITS}(?:\.\d+)?|\.\d+|\d+\.)(?:[eE](?P<power>[+-]?\d{{1,6}}))?", body)
    if not match or len(body) > MOST_DIGITS:
        return None
    digits = re.sub(r"[, ]", "", match["digits"])
    power = int(match["power"] or 0)
    if abs(power) > MOST_POWER:
        return None
    value = sign * Fraction(digits if not digits.endswith(".") else digits[:-1]) * Fraction(10) ** power
    places = len(digits.partition(".")[2])
    last_power = power - places if places or match["power"] else None
    return Number(value / 100 if percent else value, last_power, percent, cut is not None)


def parse(text: str) -> Tree:
    """The tree of an expression. Raises Unreadable if the text is none.

    parse("2x")  # ("*", ("number", Fraction(2)), ("symbol", "x"))
    """
    tokens: list[tuple[str, str]] = []
    position = 0
    text = text.strip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None or len(tokens) > MOST_NODES:
            raise Unreadable
        tokens.append((match.lastgroup or "", match[match.lastgroup or 0]))
        position = match.end()
    reader = _Reader(tokens)
    tree = reader.sum(0)
    if reader.place != len(tokens) or height(tree) > HIGHEST:
        raise Unreadable
    if speaks(tree, INFINITY) and tree not in (INFINITY, _negative(INFINITY)):
        raise Unreadable  # infinity may stand alone, but not in a calculation
    return tree


def height(tree: Tree) -> int:
    """The levels of a tree, counted without a call for each."""
    levels, found = [tree], 0
    while levels:
        levels = [part for node in levels for part in node[1:] if isinstance(part, tuple)]
        found += 1
    return found


def speaks(tree: Tree, part: Tree) -> bool:
    """Whether a tree contains a part."""
    return tree == part or any(isinstance(inner, tuple) and speaks(inner, part) for inner in tree[1:])


def _negative(tree: Tree) -> Tree:
    return ("-", ("number", Fraction(0)), tree)


class _Reader:
    """A recursive-descent parser: sums of products of powers, where `2x` is a product too."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self.tokens = tokens
        self.place = 0
        self.bars = 0  # 1 while a `|` is open, so that the next `|` closes it

    def peek(self) -> tuple[str, str]:
        return self.tokens[self.place] if self.place < len(self.tokens) else ("end", "")

    def take(self, wanted: str = "") -> tuple[str, str]:
        token = self.peek()
        if token[0] == "end" or (wanted and token[1] != wanted):
            raise Unreadable
        self.place += 1
        return token

    def sum(self, depth: int) -> Tree:
        if depth > DEEPEST:
            raise Unreadable
        tree = self.product(depth)
        while self.peek()[1] in ("+", "-"):
            sign = self.take()[1]
            tree = (sign, tree, self.product(depth))
        return tree

    def product(self, depth: int) -> Tree:
        tree = self.signed(depth)
        while True:
            if self.peek()[1] in _TIMES:
                self.take()
                tree = ("*", tree, self.signed(depth))
            elif self.peek()[1] in ("/", r"\div"):
                self.take()
                tree = ("/", tree, self.signed(depth))
            elif self.beside():
                tree = self._beside(tree, depth)
            else:
                return tree

    def beside(self) -> bool:
        """Whether a factor follows without a multiplication sign."""
        kind, text = self.peek()
        if text == "|":
            return not self.bars
        if kind == "number":
            return self.tokens[self.place - 1][0] not in ("number", "repeat") and self.place > 0
        closes = text in _FENCES.values() or text in (r"\div", r"\circ", *_TIMES)
        return (kind in ("symbol", "named", "command", "repeat") and not closes) or text in ("(", "{", "[")

    def _beside(self, left: Tree, depth: int) -> Tree:
        """Reads a factor without a multiplication sign. `2x` is a product, but `1\\frac{1}{2}` is a mixed number."""
        fraction = self.peek()[1] == r"\frac"
        right = self.power(depth)
        whole = left[0] == "number" and left[1].denominator == 1 and left[1] >= 0
        if fraction and whole and right[0] == "/" and right[1][0] == right[2][0] == "number":
            return ("+", left, right)
        return ("*", left, right)

    def signed(self, depth: int) -> Tree:
        if self.peek()[1] in ("+", "-"):
            sign = self.take()[1]
            tree = self.signed(depth + 1) if depth <= DEEPEST else self.atom(depth)
            return _negative(tree) if sign == "-" else tree
        tree = self.power(depth)
        while self.peek()[1] == r"\frac":
            tree = self._beside(tree, depth)
        return tree

    def power(self, depth: int, *, raised: bool = False) -> Tree:
        """Reads a power, with signs such as "!" behind its base. Behind an exponent they may be meant for all of it."""
        base = self.atom(depth + 1)
        while self.peek()[1] in ("!", "%"):
            if raised:
                raise Unreadable  # x^2!
            sign = self.take()[1]
            if sign == self.peek()[1] == "!":  # n!! is not (n!)!
                self.take()
                sign = "!!"
            base = (sign, base) if sign in ("!", "!!") else ("/", base, ("number", Fraction(100)))
            if sign == "!!" and self.peek()[1] == "!":
                raise Unreadable
        if self.peek()[1] in ("^", "**"):
            self.take()
            if self.peek()[1] == r"\circ":
                self.take()
                return ("*", base, ("/", ("constant", "pi"), ("number", Fraction(180))))
            return ("^", base, self.exponent(depth + 1))
        return base

    def exponent(self, depth: int) -> Tree:
        """Reads the exponent of `x^{n}`, `x^-2` or `x^12`. LaTeX sets `x^12` as x^1 times 2, but people mean x^12."""
        if depth > DEEPEST:
            raise Unreadable
        if self.peek()[1] in ("-", "+"):
            sign = self.take()[1]
            tree = self.power(depth, raised=True)
            return _negative(tree) if sign == "-" else tree
        return self.power(depth, raised=True)

    def atom(self, depth: int) -> Tree:
        if depth > DEEPEST:
            raise Unreadable
        kind, text = self.take()
        if kind == "number":
            return ("number", _literal(text))
        if kind == "repeat":
            return ("number", _repeating(text))
        if text in _FENCES:
            return self._fenced(text, depth)
        if kind in ("symbol", "named"):
            return self._symbol(text)
        if kind == "command":
            return self._command(text, depth)
        raise Unreadable

    def _fenced(self, text: str, depth: int) -> Tree:
        outer, self.bars = self.bars, int(text == "|")
        inner = self.sum(depth + 1)
        self.bars = outer
        self.take(_FENCES[text])
        return (_FENCED[text], inner) if text in _FENCED else inner

    def _symbol(self, text: str) -> Tree:
        """Reads a symbol with its subscripts and primes."""
        name = re.sub(r"\s+", "", re.sub(r"^\\text\s*\{\s*(\w)\s*\}$", r"\1", text))
        marks = ""
        while self.peek()[0] in ("below", "prime"):
            marks += re.sub(r"[\s{}]", "", self.take()[1])
        if not marks and name in ("e", "i"):
            return ("constant", name)
        return ("symbol", name + marks)

    def _command(self, text: str, depth: int) -> Tree:
        name = text[1:]
        if name == "frac":
            return ("/", self.argument(depth + 1), self.argument(depth + 1))
        if name in ("binom", "dbinom", "tbinom"):
            return ("binomial", self.argument(depth + 1), self.argument(depth + 1))
        if name == "sqrt":
            return self._root(depth)
        if name == "pi":
            return ("constant", "pi")
        if name in _GREEK:
            return self._symbol(text)
        if name in FUNCTIONS or name in ("log", "lg"):
            return self._applied(name, depth)
        raise Unreadable

    def _root(self, depth: int) -> Tree:
        if self.peek()[1] == "[":
            self.take()
            degree = self.sum(depth + 1)
            self.take("]")
            return ("root", self.argument(depth + 1), degree)
        return ("root", self.argument(depth + 1))

    def _applied(self, name: str, depth: int) -> Tree:
        """Reads a function and its argument, as in `\\sin^2 x`, `\\log_2 8`, `\\cos 2x`.

        The argument is what stands in brackets, or else all factors up to the next sign.
        """
        base: Tree = ("number", Fraction(10)) if name == "lg" else BASE
        power: Tree | None = None
        while self.peek()[0] == "below" or self.peek()[1] in ("^", "_"):
            if self.peek()[1] == "^":
                self.take()
                power = self.exponent(depth + 1)
            elif self.peek()[1] == "_":
                self.take()
                base = self.atom(depth + 1)
            else:
                base = parse(re.sub(r"^_\s*\{?|\}$", "", self.take()[1]))
        if power == _negative(("number", Fraction(1))):
            if name not in _INVERSE:
                raise Unreadable
            name, power = _INVERSE[name], None
        argument = self._of(depth)
        tree = ("log", base, argument) if name in ("log", "lg") else (name, argument)
        return ("^", tree, power) if power is not None else tree

    def _of(self, depth: int) -> Tree:
        if self.peek()[1] in ("(", "[", "{"):
            return self.atom(depth + 1)
        if self.peek()[1] == "-":
            self.take()
            return _negative(self._of(depth + 1) if depth <= DEEPEST else self.atom(depth))
        tree = self.power(depth)
        while self.beside() and self.peek()[1] not in ("(", "[") and not self._function():
            tree = self._beside(tree, depth)
        following = self.tokens[self.place + 1 : self.place + 2]
        if (
            self.peek()[1] == "/"
            and ("constant", "pi") in (tree, tree[-1])
            and following
            and following[0][0] == "number"
        ):
            self.take()  # \sin \pi/4
            tree = ("/", tree, self.atom(depth))
        return tree

    def _function(self) -> bool:
        name = self.peek()[1][1:]
        return name in FUNCTIONS or name in ("log", "lg")

    def argument(self, depth: int) -> Tree:
        """Reads the argument of a command: the content of braces, or one digit or letter, so that `\\frac12` is 1/2."""
        kind, text = self.peek()
        if kind == "number" and len(text) > 1 and text.isdigit():
            self.tokens[self.place] = ("number", text[1:])
            return ("number", Fraction(text[0]))
        return self.atom(depth)


def _literal(text: str) -> Fraction:
    found = plain_number(text) if len(text) <= MOST_DIGITS else None
    if found is None:
        raise TooBig
    return found.value


def _repeating(text: str) -> Fraction:
    """A repeating decimal: 0.1\\overline{6} = 0.1 + 6 / 90. Dots mark the first and the last repeating digit."""
    head, _, tail = re.split(r"(\\overline|\\bar|\\dot|\()", text, maxsplit=1)
    whole, _, fixed = head.partition(".")
    cycle = re.sub(r"\D", "", tail)
    if not cycle or len(text) > MOST_DIGITS:
        raise Unreadable
    number = Fraction(int((whole or "0") + fixed), 10 ** len(fixed))
    return number + Fraction(int(cycle), (10 ** len(cycle) - 1) * 10 ** len(fixed))
