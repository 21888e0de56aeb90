"""What is expected of a program: tests of one of three kinds. They stay outside the sandbox; only inputs go in."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.errors import DataError
from assay.sandbox import Limits
from assay.verifiers.programs import compare, plain

LONGEST_ASSERT, DEEPEST_ASSERT = 20_000, 40  # characters and brackets: deeper text can break a parser
BUDGET = 12.0  # seconds for all tests of an answer, unless its row says otherwise
MOST_BUDGET = 3600.0
_TOLERANT = {"math.isclose", "isclose", "np.isclose"}


@dataclass(frozen=True)
class Streams:
    """Tests by standard input and output: `Streams((("1 2\\n", "3\\n"),), compare="tokens")`."""

    tests: tuple[tuple[str, str], ...]  # (input, expected output)
    compare: str = "lines"  # a name of `compare.TEXT`
    limits: Limits = field(default_factory=Limits)  # of one run
    budget: float = BUDGET  # seconds of all runs together

    def __post_init__(self) -> None:
        _known("output", self.compare, compare.TEXT, self.tests)


@dataclass(frozen=True)
class Call:
    """One call, and what it returns: `Call("f", (2,), 4)`."""

    entry: str  # the function, or `Class.method`
    arguments: tuple[Any, ...]
    expected: Any
    compare: str = ""  # a name of `compare.VALUES`; "": that of its `Calls`


@dataclass(frozen=True)
class Calls:
    """Tests by calls of a function: `Calls((Call("f", (2,), 4),))`."""

    tests: tuple[Call, ...]
    compare: str = "equal"  # a name of `compare.VALUES`
    limits: Limits = field(default_factory=Limits)  # of the run of all calls of a function
    budget: float = BUDGET  # seconds of all runs together

    def __post_init__(self) -> None:
        _known("value", self.compare, compare.VALUES, self.tests)
        for call in self.tests:
            try:
                plain.pack([*call.arguments, call.expected])
            except plain.NotPlain as error:
                raise DataError(
                    f"a test of '{call.entry}' holds {error}: arguments and expected values are None, bool, int, "
                    "float, str, bytes, list, tuple, dict or set."
                ) from None


Tests = Streams | Calls


def _known(what: str, name: str, names: Mapping[str, object], tests: Sequence[object]) -> None:
    if name not in names:
        raise DataError(f"no comparator of {what}s named '{name}': expected one of {', '.join(names)}.")
    if not tests:
        raise DataError("a program without tests cannot be judged: every program would pass. Give at least one test.")


def read_tests(data: Mapping[str, Any], *, limits: Limits | None = None) -> Tests:
    """The tests of a row of plain JSON data. DataError says what is wrong with it.

    read_tests({"entry": "f", "calls": [[[2], 4]]}); read_tests({"streams": [["1", "2"]]});
    read_tests({"asserts": ["assert f(2) == 4"], "budget": 20})
    """
    limits = limits or Limits()
    kinds = [kind for kind in ("streams", "calls", "asserts") if kind in data]
    if len(kinds) != 1 or not isinstance(data[kinds[0]], (list, tuple)):
        raise DataError(
            "tests of a program are a list under one of 'streams' (pairs of input and output), 'calls' (pairs of "
            f"arguments and value, beside 'entry') or 'asserts' (lines of Python), not {sorted(data)}."
        )
    rows = data[kinds[0]]
    budget = _budget(data.get("budget", BUDGET))
    if kinds[0] == "asserts":
        return Calls(tuple(map(call_of, rows)), "python", limits, budget)
    for number, row in enumerate(rows):
        if not isinstance(row, (list, tuple)) or len(row) != 2:
            raise DataError(f"test {number + 1} of a program is no pair: {str(row)[:80]}")
    if kinds[0] == "streams":
        return Streams(
            tuple((str(given), str(wanted)) for given, wanted in rows), data.get("compare", "lines"), limits, budget
        )
    if not isinstance(data.get("entry"), str):
        raise DataError("tests by calls name the function that is called: 'entry' is missing.")
    calls = tuple(Call(data["entry"], tuple(given), wanted) for given, wanted in rows)
    return Calls(calls, data.get("compare", "json"), limits, budget)


def _budget(seconds: object) -> float:
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds <= MOST_BUDGET:
        raise DataError(
            f"'budget' is {seconds!r}: expected the seconds that all tests of an answer have together, more than 0 and "
            f"at most {MOST_BUDGET:g}."
        )
    return float(seconds)


def call_of(text: str) -> Call:
    """The call and the expected value that an assert compares, so that the comparison can be made outside.

    call_of("assert f(1, [2]) == 3")  # Call("f", (1, [2]), 3)

    Known are `f(...) == literal`, `f(...) is literal`, `f(...)`, `not f(...)`, `sorted(f(...)) == literal`,
    `set(f(...)) == literal` and `math.isclose(f(...), literal)`. Any other assert is a DataError: the candidate's own
    process would decide it, and could lie.
    """
    if len(text) > LONGEST_ASSERT or _depth(text) > DEEPEST_ASSERT:
        raise DataError(f"an assert is too long or too deep to be read: {text[:80]}...")
    try:
        (statement,) = ast.parse(text.strip()).body
        assert isinstance(statement, ast.Assert)
        return _call(statement.test)
    except (SyntaxError, ValueError, AssertionError, RecursionError, MemoryError):
        raise DataError(
            f"this assert cannot be judged outside the candidate's process: {text[:120]!r}. Write it as "
            "`assert f(arguments) == literal`."
        ) from None


def _depth(text: str) -> int:
    """How deep brackets and signs are nested, at most: `- - -1` nests as brackets do."""
    depth = deepest = signs = 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        signs = signs + 1 if character in "-+~" else 0 if not character.isspace() else signs
        deepest = max(deepest, depth + signs)
    return deepest


def _call(test: ast.expr) -> Call:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _plain(test.operand, False, "truth")
    if isinstance(test, ast.Call) and ast.unparse(test.func) in _TOLERANT:
        assert len(test.args) == 2 and not test.keywords
        return _plain(test.args[0], ast.literal_eval(test.args[1]), "close")
    if not isinstance(test, ast.Compare):
        return _plain(test, True, "truth")
    assert len(test.ops) == 1
    expected = ast.literal_eval(test.comparators[0])
    if isinstance(test.ops[0], ast.Is):
        assert expected is None or type(expected) is bool
    else:
        assert isinstance(test.ops[0], ast.Eq)
    left = test.left
    if isinstance(left, ast.Call) and isinstance(left.func, ast.Name) and left.func.id in ("sorted", "set"):
        assert len(left.args) == 1 and not left.keywords and isinstance(left.args[0], ast.Call)
        return _plain(left.args[0], expected, "unordered" if left.func.id == "sorted" else "members")
    return _plain(left, expected, "")


def _plain(node: ast.expr, expected: Any, name: str) -> Call:
    assert isinstance(node, ast.Call) and not node.keywords
    entry = ast.unparse(node.func).removesuffix("()")
    if isinstance(node.func, ast.Attribute):  # Solution().method(...)
        assert isinstance(node.func.value, ast.Call) and not node.func.value.args
        entry = f"{ast.unparse(node.func.value.func)}.{node.func.attr}"
    else:
        assert isinstance(node.func, ast.Name)
    return Call(entry, tuple(map(ast.literal_eval, node.args)), expected, name)
