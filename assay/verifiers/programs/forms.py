"""Rows of data as tests of programs: our own forms, and those of public sets, as plain JSON data."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from assay.errors import DataError
from assay.sandbox import Limits
from assay.verifiers.programs.asserts import calls_of
from assay.verifiers.programs.readings import RETURNED, Apply, Choice, Constant
from assay.verifiers.programs.specs import Call, Calls, Streams, Tests

KINDS = ("streams", "calls", "asserts", "input_output")
MOST_BUDGET = 3600.0


def read_tests(data: Mapping[str, Any], *, limits: Limits | None = None) -> Tests:
    """The tests of a row of plain JSON data. DataError says what is wrong with it.

    read_tests({"entry": "f", "calls": [[[2], 4]]}); read_tests({"streams": [["1", "2"]]});
    read_tests({"asserts": ["assert f(2) == 4"], "setup": "import math"});
    read_tests({"asserts": "def check(g):\\n    assert g(2) == 4", "entry": "f"});
    read_tests({"input_output": {"fn_name": "f", "inputs": [[2]], "outputs": [4]}, "budget": 20})
    """
    tests = _read(data, limits or Limits())
    return replace(tests, budget=_budget(data["budget"])) if "budget" in data else tests


def _budget(seconds: object) -> float:
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds <= MOST_BUDGET:
        raise DataError(
            f"'budget' is {seconds!r}: expected the seconds that all tests of an answer have together, more than 0 and "
            f"at most {MOST_BUDGET:g}."
        )
    return float(seconds)


def _read(data: Mapping[str, Any], limits: Limits) -> Tests:
    kinds = [kind for kind in KINDS if kind in data] if isinstance(data, Mapping) else []
    if len(kinds) != 1:
        raise DataError(
            "tests of a program are a list under one of 'streams' (pairs of input and output), 'calls' (pairs of "
            "arguments and value, beside 'entry'), 'asserts' (tests in Python) or 'input_output' (an object of "
            f"'inputs' and 'outputs'), not {sorted(data) if isinstance(data, Mapping) else type(data).__name__}."
        )
    (kind,) = kinds
    if kind == "input_output":
        return _input_output(data[kind], limits)
    if kind == "asserts":
        return Calls(_asserted(data), data.get("compare", "python"), limits)
    pairs = _pairs(data[kind], kind)
    if kind == "streams":
        return Streams(
            tuple((str(given), str(wanted)) for given, wanted in pairs), data.get("compare", "lines"), limits
        )
    if not isinstance(data.get("entry"), str):
        raise DataError("tests by calls name the function that is called: 'entry' is missing.")
    calls = tuple(_call(data["entry"], given, wanted) for given, wanted in pairs)
    return Calls(calls, data.get("compare", "json"), limits)


def _call(entry: str, given: Any, wanted: Any) -> Call:
    if not isinstance(given, (list, tuple)):
        raise DataError(f"the arguments of a call are a list, not {str(given)[:80]!r}.")
    return Call(entry, tuple(given), wanted)


def _pairs(rows: Any, kind: str) -> Sequence[Any]:
    if not isinstance(rows, (list, tuple)):
        raise DataError(f"tests of a program are a list under '{kind}', not {type(rows).__name__}.")
    for number, row in enumerate(rows, 1):
        if not isinstance(row, (list, tuple)) or len(row) != 2:
            raise DataError(f"test {number} of a program is no pair: {str(row)[:80]}")
    return rows


# --- asserts --------------------------------------------------------------------------------------------------


def _asserted(data: Mapping[str, Any]) -> tuple[Call, ...]:
    """The calls of asserts: one text, or a list of texts that stand beside each other."""
    rows, setup, entry = data["asserts"], data.get("setup", ""), data.get("entry", "")
    texts = [rows] if isinstance(rows, str) else rows
    given = isinstance(texts, (list, tuple)) and all(isinstance(one, str) for one in texts)
    if not given or not isinstance(setup, str) or not isinstance(entry, str):
        raise DataError("asserts are texts in Python, as are 'setup' before them and 'entry', the name of a function.")
    return tuple(call for text in texts for call in calls_of(text, setup=setup, entry=entry))


# --- inputs and outputs ---------------------------------------------------------------------------------------


def _input_output(value: Any, limits: Limits) -> Tests:
    """Tests as APPS has them: `inputs` and `outputs`, of a function where `fn_name` stands, else as texts."""
    data = _object(value)
    inputs, outputs, name = data.get("inputs"), data.get("outputs"), data.get("fn_name")
    if not isinstance(inputs, list) or not isinstance(outputs, list) or len(inputs) != len(outputs):
        raise DataError("'input_output' is an object of 'inputs' and 'outputs', two lists of one length.")
    if name is None:
        pairs = tuple((_stream(one), _stream(other)) for one, other in zip(inputs, outputs, strict=True))
        return Streams(pairs, "numbers", limits)
    if not isinstance(name, str):
        raise DataError("'fn_name' of 'input_output' is the name of a function.")
    wrapped = all(isinstance(one, list) and len(one) == 1 for one in outputs)
    pairs = [(_numbered(one), _numbered(other)) for one, other in zip(inputs, outputs, strict=True)]
    return Calls(tuple(_wrapped(name, one, other) if wrapped else _call(name, one, other) for one, other in pairs),
                 "json", limits)  # fmt: skip


def _object(value: Any) -> Mapping[str, Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise DataError(f"'input_output' is no JSON: {str(error)[:80]}.") from None
    if not isinstance(value, Mapping):
        raise DataError(f"'input_output' is an object of 'inputs' and 'outputs', not {type(value).__name__}.")
    return value


def _stream(value: Any) -> str:
    """A text, or a list of lines."""
    lines = value if isinstance(value, list) else [value]
    if not all(isinstance(one, str) for one in lines):
        raise DataError(f"an input or output is a text or a list of lines, not {str(value)[:80]!r}.")
    return "\n".join(lines)


def _wrapped(name: str, given: Any, wanted: list[Any]) -> Call:
    """A call in a row whose outputs are all lists of one member: some of these rows mean the member."""
    either = Choice("or", tuple(Apply("json ==", (RETURNED, Constant(one))) for one in (wanted[0], wanted)))
    call = _call(name, given, True)
    return Call(call.entry, call.arguments, True, "truth", reading=either)


def _numbered(value: Any) -> Any:
    """A value in which a dict whose keys are all written integers has integers as keys, which JSON cannot write."""
    if isinstance(value, list):
        return [_numbered(one) if isinstance(one, Mapping) else one for one in value]
    if isinstance(value, Mapping) and value and all(_is_integer(key) for key in value):
        return {int(key): one for key, one in value.items()}
    return value


def _is_integer(key: Any) -> bool:
    return isinstance(key, str) and key.isascii() and key.removeprefix("-").isdigit() and len(key) < 100
