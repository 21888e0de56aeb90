"""Expressions of Python that a policy wrote, evaluated in the sandbox: what they make of lists of integers.

An expression is a program with one name, `x`. Its text reaches no parser outside of the sandbox.
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Sequence

from assay.errors import AssayError
from assay.sandbox import Execution, Limits, Ran, opened

LIMITS = Limits(seconds=0.5, memory_mb=256, output_kb=64)
LONGEST = 120  # characters of an expression
MOST_MEMBERS, LARGEST = 12, 10**6  # of a value
AGAIN = 2  # runs of each, whose values must be the same
_KEPT = 65_536  # expressions whose values are remembered

DRIVER = """import json, sys
expression, given = json.load(sys.stdin)
code = compile(expression.strip(), "expression", "eval")
print(json.dumps([eval(code, {"x": list(one)}) for one in given]))
"""
_PLAIN = re.compile(r"[ -:<-~]+")  # what can be printed, without ;
_FORBIDDEN = re.compile(
    r"__|\b(?:import|exec|eval|compile|open|input|print|globals|locals|vars|dir|getattr|setattr|delattr|id|hash|object|"
    r"type|memoryview|breakpoint|exit|quit|help|repr|format|yield|await)\b"
)
_LIST = re.compile(r"\[(?:-?[0-9]{1,7}(?:,-?[0-9]{1,7})*)?\]")
_VALUE = re.compile(rf"-?[0-9]{{1,7}}|{_LIST.pattern}")

_known: OrderedDict[tuple[str, tuple[str, ...]], tuple[str, ...] | None] = OrderedDict()


def list_in(text: str) -> str | None:
    """A list of integers as it is written here, "[3,-1,2]"; None if the text is none."""
    found = value_in(text)
    return found if found is not None and found.startswith("[") else None


def value_in(text: str) -> str | None:
    """An integer or a list of integers as it is written here; None if the text is neither."""
    bare = text.replace(" ", "")
    if len(text) > 200 or _VALUE.fullmatch(bare) is None:
        return None
    return written(json.loads(re.sub(r"(?<![0-9])(-?)0+(?=[0-9])", r"\1", bare)))


def written(value: object) -> str | None:
    """An integer or a list of integers as text; None for another value, or one that is too large."""
    members = value if isinstance(value, list) else [value]
    if len(members) > MOST_MEMBERS or any(type(one) is not int or abs(one) > LARGEST for one in members):
        return None
    return json.dumps(value, separators=(",", ":"))


def is_plain(expression: str) -> bool:
    """Whether a text may be evaluated: it has no word that reaches out, or whose value is another one each time."""
    short = 0 < len(expression) <= LONGEST and _PLAIN.fullmatch(expression) is not None
    return short and _FORBIDDEN.search(expression) is None


def values(asked: Sequence[tuple[str, Sequence[str]]]) -> list[tuple[str, ...] | None]:
    """What each expression makes of its lists, `values([("sorted(x)", ["[2,1]"])])` is [("[1,2]",)]. None if it fails,
    is not plain, has a value of another kind, or another one at the second run.

    All are run beside each other. A sandbox that is lost is an error, and no value.
    """
    keys = [(expression, tuple(given)) for expression, given in asked]
    new = [key for key in dict.fromkeys(keys) if key not in _known and is_plain(key[0])]
    jobs = [
        Execution(DRIVER, json.dumps([expression, [json.loads(text) for text in given]]).encode(), LIMITS)
        for expression, given in new
        for _ in range(AGAIN)
    ]
    ran = opened().map(jobs) if jobs else []
    for number, key in enumerate(new):
        runs = {_told(each, len(key[1])) for each in ran[number * AGAIN : (number + 1) * AGAIN]}
        _known[key] = runs.pop() if len(runs) == 1 else None
    result = [_known.get(key) for key in keys]
    while len(_known) > _KEPT:
        _known.popitem(last=False)
    return result


def _told(ran: Ran, count: int) -> tuple[str, ...] | None:
    """The values that a run has printed."""
    if ran.status == "lost":
        raise AssayError(f"the sandbox was lost, which says nothing of the program: {ran.detail}")
    if ran.status != "exit" or ran.code:
        return None
    try:
        found = json.loads(ran.output)
    except ValueError:
        return None
    texts = [written(one) for one in found] if isinstance(found, list) else []
    told = tuple(text for text in texts if text is not None)
    return told if len(told) == len(texts) == count else None
