"""The constants of a query, by the column that each is compared with.

A query is cut into tokens and not parsed: `t.age >= 18`, `"France" = country`, `strftime('%Y', born) = '2000'`,
`name like 'A%'`, `size in (1, 2)` and `year between 1990 and 2000` each name a column near a constant.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r"""--[^\n]*|/\*.*?\*/|(?P<text>'(?:[^']|'')*')|(?P<quoted>"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\])"""
    r"""|(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?(?![A-Za-z0-9_]))|(?P<word>[^\W\d]\w*)"""
    r"""|(?P<sign><=|>=|<>|!=|==|\|\||.)""",
    re.DOTALL,
)
_BETWEEN = frozenset({"=", "==", "<", ">", "<=", ">=", "<>", "!=", "(", ")", ",", "-", "+"}) | frozenset(
    {"like", "glob", "is", "not", "in", "between", "and", "escape"}
)
"""Tokens that may stand between a column and a constant that it is compared with."""
_COMPARES = _BETWEEN - {"(", ")", ",", "-", "+", "and"}
LARGEST = 1e15  # of the numbers that are looked at
_FARTHEST = 40  # tokens back to the column

Constant = str | float


@dataclass(frozen=True)
class Token:
    """One token: its kind (text, quoted, number, word or sign), and its text without quotes.

    Example:
        tokens("age >= 18")  # Token("word", "age"), Token("sign", ">="), Token("number", "18")
    """

    kind: str
    text: str


def tokens(query: str) -> list[Token]:
    """The tokens of a text in SQL; comments and spaces are none."""
    found = []
    for match in _TOKEN.finditer(query):
        kind, text = match.lastgroup, match[0]
        if kind is None or not text.strip():
            continue
        if kind in ("text", "quoted"):
            mark = text[-1]
            text = text[1:-1] if mark == "]" else text[1:-1].replace(mark * 2, mark)
        found.append(Token(kind, text))
    return found


@dataclass
class Constants:
    """Constants by their column, in small letters, and the constants whose column is not known.

    Example:
        constants_of("select name from people where age > 17", {"name", "age"}).of["age"]  # [17.0]
    """

    of: dict[str, list[Constant]] = field(default_factory=dict)
    free: list[Constant] = field(default_factory=list)

    def near(self, column: str) -> Sequence[Constant]:
        """The constants of a column; if it has none, the constants that belong to no column."""
        return self.of.get(column.lower()) or self.free


def constants_of(query: str, columns: Collection[str]) -> Constants:
    """The constants of a query on tables with these columns. A text in double quotes that names no column is a text."""
    known = {column.lower() for column in columns}
    listed = tokens(query)
    found = Constants()
    for place, token in enumerate(listed):
        constant = _constant(token, known)
        if constant is None:
            continue
        if token.kind == "number" and place and listed[place - 1].text == "-":
            constant = -float(constant)
        column = _behind(listed, place, known) or _before(listed, place, known)
        (found.of.setdefault(column, []) if column else found.free).append(constant)
    return found


def _constant(token: Token, known: Collection[str]) -> Constant | None:
    if token.kind == "number":
        return number if (number := float(token.text)) < LARGEST else None
    is_text = token.kind == "text" or (token.kind == "quoted" and token.text.lower() not in known)
    return token.text if is_text else None


def _behind(listed: Sequence[Token], place: int, known: Collection[str]) -> str | None:
    """The column to the left that the constant at this place is compared with."""
    passed: set[str] = set()
    for token in reversed(listed[max(0, place - _FARTHEST) : place]):
        name = token.text.lower()
        if token.kind in ("word", "quoted") and name in known:
            other_side = "and" in passed and "between" not in passed
            return name if passed & _COMPARES and not other_side else None
        if token.kind in ("number", "text") or (token.kind == "quoted" and name not in known):
            continue
        if name not in _BETWEEN:
            return None
        passed.add(name)
    return None


def _before(listed: Sequence[Token], place: int, known: Collection[str]) -> str | None:
    """The column to the right: `'France' = country`, also behind the name of a table and a stop."""
    rest = [token.text.lower() for token in listed[place + 1 : place + 5]]
    if not rest or rest[0] not in _COMPARES:
        return None
    return next((name for name in rest[1:] if name in known), None)


def joined(*several: Constants) -> Constants:
    """The constants of several texts together."""
    found = Constants()
    for one in several:
        found.free += one.free
        for column, listed in one.of.items():
            found.of.setdefault(column, []).extend(listed)
    return found


def words_of(query: str) -> frozenset[str]:
    """The small letters of every name in a query, quoted or not: of tables, columns and functions."""
    return frozenset(token.text.lower() for token in tokens(query) if token.kind in ("word", "quoted"))


def texts_like(pattern: str, filling: Sequence[str]) -> list[str]:
    """Texts that a pattern of LIKE fits: itself without `%`, and with something in its place.

    texts_like("%ant", ["x"])  # ["ant", "xant"]
    """
    return [pattern.replace("%", some).replace("_", "e") for some in ("", *filling)]


def dated(query: str, columns: Collection[str]) -> frozenset[str]:
    """The columns that a query gives to a function of dates: their texts are dates."""
    known = {column.lower() for column in columns}
    listed = [token.text.lower() for token in tokens(query)]
    calls = [i for i, text in enumerate(listed) if text in ("strftime", "date", "datetime", "julianday", "unixepoch")]
    near = (next((text for text in listed[i + 1 : i + 8] if text in known), None) for i in calls)
    return frozenset(column for column in near if column)
