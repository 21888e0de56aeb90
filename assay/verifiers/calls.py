"""Calls of tools: read strictly, and compared with reference calls by names, keys and values (ToolRL 2504.13958).

Two notations are read: a JSON list of {"name", "arguments"}, and, for small models, `wake(at=7);mail(to=bob)`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.types import Verdict
from assay.verifiers.explained import Explained, bad_gold

LARGEST, DEEPEST, MOST = 64 * 1024, 64, 100  # characters, brackets within each other, and calls
_SHORT = re.compile(r"([a-z]+)\(([a-z0-9=,]*)\)")


@dataclass(frozen=True)
class Call:
    """One call: `Call("wake", {"at": 7})`."""

    name: str
    arguments: Mapping[str, Any]


def read_calls(text: str) -> list[Call] | None:
    """The calls that a text notes; None if it notes them in neither notation."""
    if len(text) > LARGEST:
        return None
    text = text.strip()
    return _json_calls(text) if text.startswith("[") else _short_calls(text)


def _json_calls(text: str) -> list[Call] | None:
    if _depth(text) > DEEPEST:
        return None
    try:
        rows = json.loads(text, object_pairs_hook=_once, parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError):
        return None
    if not isinstance(rows, list) or len(rows) > MOST:
        return None
    calls = []
    for row in rows:
        if not isinstance(row, dict) or row.keys() != {"name", "arguments"}:
            return None
        if not isinstance(row["name"], str) or not isinstance(row["arguments"], dict):
            return None
        calls.append(Call(row["name"], row["arguments"]))
    return calls


def _short_calls(text: str) -> list[Call] | None:
    calls = []
    pieces = text.split(";")
    for piece in pieces if len(pieces) <= MOST else ("?",):
        found = _SHORT.fullmatch(piece)
        if found is None:
            return None
        pairs = [pair.split("=") for pair in found[2].split(",")] if found[2] else []
        arguments = {pair[0]: _value(pair[-1]) for pair in pairs}
        if any(len(pair) != 2 or not all(pair) for pair in pairs) or len(arguments) < len(pairs):
            return None
        calls.append(Call(found[1], arguments))
    return calls


def _value(text: str) -> str | int:
    return int(text) if text.isdecimal() and len(text) < 10 and str(int(text)) == text else text


def _depth(text: str) -> int:
    """How many brackets are open at once, at most; brackets within texts count too."""
    depth = deepest = 0
    for character in text:
        depth += (character in "[{") - (character in "]}")
        deepest = max(deepest, depth)
    return deepest


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice")
    return found


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"{text[:20]} is too large")
    return number


def equal(gold: Sequence[Call], found: Sequence[Call]) -> bool:
    """Whether both are the same calls, in whatever order. 1, 1.0, true and "1" are four values."""
    return Counter(map(_text, gold)) == Counter(map(_text, found))


def _text(value: Any) -> str:
    if isinstance(value, Call):
        value = [value.name, value.arguments]
    return json.dumps(value, sort_keys=True)


def matched(gold: Sequence[Call], found: Sequence[Call] | None) -> float:
    """R_c = 6 s / s_max - 3, from -3 to 3; -3 where no calls could be read.

    s = J(names) + sum over the reference calls, in their order, of the best unused call of the same name:
    J(keys) + number of equal values. J is the Jaccard index of multisets, and s_max = 1 + sum of (1 + number of keys).
    """
    if found is None:
        return -3.0
    if equal(gold, found):
        return 3.0
    score = jaccard((call.name for call in gold), (call.name for call in found))
    unused = list(range(len(found)))
    for call in gold:
        rated = [(_likeness(call, found[i]), -i) for i in unused if found[i].name == call.name]
        if rated:
            best, place = max(rated)
            score += best
            unused.remove(-place)
    return 6.0 * score / (1 + sum(1 + len(call.arguments) for call in gold)) - 3.0


def _likeness(gold: Call, found: Call) -> float:
    values = sum(
        _text(value) == _text(found.arguments[key]) for key, value in gold.arguments.items() if key in found.arguments
    )
    return jaccard(gold.arguments, found.arguments) + values


def jaccard(one: Iterable[str], other: Iterable[str]) -> float:
    """The Jaccard index of two multisets; 1 if both are empty."""
    first, second = Counter(list(one)), Counter(list(other))
    together = (first | second).total()
    return (first & second).total() / together if together else 1.0


def verdict_of(gold: Sequence[Call], text: str) -> Verdict:
    """Whether a text notes the same calls."""
    found = read_calls(text)
    if found is None:
        return Verdict.fail("format", "no list of calls")
    return Verdict.ok(_noted(found)) if equal(gold, found) else Verdict.fail("wrong", "other calls", _noted(found))


def _noted(calls: Sequence[Call]) -> str:
    rows: list[Any] = [{"name": call.name, "arguments": call.arguments} for call in calls]
    return json.dumps(rows, sort_keys=True)[:2000]


def explain(pairs: Sequence[tuple[str, str]]) -> list[Explained]:
    """Each (reference calls, response) explained, both in one of the notations.

    explain([("wake(at=7)", '[{"name": "wake", "arguments": {"at": 7}}]')])
    """
    return [_explained(gold, response) for gold, response in pairs]


def _explained(reference: str, response: str) -> Explained:
    gold = read_calls(reference)
    if gold is None:
        why = "the reference is no list of calls"
        return bad_gold(why)
    verdict = verdict_of(gold, response)
    if verdict.kind == "format":
        why = 'a JSON list of {"name", "arguments"} or wake(at=7);mail(to=bob) was expected'
        return Explained(verdict, _noted(gold), None, "", "notation", why)
    why = f"the graded match is {matched(gold, read_calls(response)):.3g} of 3"
    return Explained(verdict, _noted(gold), verdict.answer, "", "calls", why)
