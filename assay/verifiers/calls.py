"""Calls of tools: read strictly, and compared with reference calls by names, keys and values (ToolRL 2504.13958).

Two notations are read: a JSON list of {"name", "arguments"}, and, for small models, `wake(at=7);mail(to=bob)`. A
reference may also be a JSON object, which says whether the order counts and which schemas the tools have.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.types import Verdict
from assay.verifiers.explained import Explained, bad_gold
from assay.verifiers.tool_schemas import BadTools, Schema, filled, schemas_of

LARGEST, DEEPEST, MOST = 64 * 1024, 64, 100  # characters, brackets within each other, and calls
LARGEST_REFERENCE = 1 << 20  # characters, with the schemas of the tools
_SHORT = re.compile(r"([a-z]+)\(([a-z0-9=,]*)\)")


@dataclass(frozen=True)
class Call:
    """One call: `Call("wake", {"at": 7})`."""

    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class Reference:
    """The calls that are right, whether their order counts, and the schemas of the tools that have one.

    Example:
        Reference((Call("wake", {"at": 7}),), ordered=True)
    """

    calls: tuple[Call, ...]
    ordered: bool = False
    schemas: Mapping[str, Schema] = field(default_factory=dict)

    def read(self, calls: Sequence[Call]) -> list[Call]:
        """Calls as the schemas read them: with defaults, and with numbers of the kind that a schema says."""
        return [Call(call.name, filled(dict(call.arguments), self.schemas.get(call.name, {}))) for call in calls]


class BadReference(ValueError):
    """The reference is none; the message says why."""


def read_reference(text: str) -> Reference:
    """The reference that a text states: calls in one of the notations, or a JSON object. Raises BadReference.

    read_reference('{"calls": [{"name": "wake", "arguments": {"at": 7}}], "ordered": true, "tools": []}')
    """
    if not text.lstrip().startswith("{"):
        if (calls := read_calls(text)) is None:
            raise BadReference("the reference is no list of calls")
        return Reference(tuple(calls))
    try:
        described = _loaded(text, LARGEST_REFERENCE)
        unknown = described.keys() - {"calls", "ordered", "tools"}
        calls = _calls_of(described.get("calls"))
        if unknown or calls is None or not isinstance(described.get("ordered", False), bool):
            raise BadReference(
                'expected {"calls": [...], "ordered": true or false, "tools": [...]}; the last two may lack'
            )
        schemas = schemas_of(described.get("tools", []))
    except BadTools as error:
        raise BadReference(str(error)) from None
    if schemas and (strange := [call.name for call in calls if call.name not in schemas]):
        raise BadReference(f"the reference calls '{strange[0][:40]}', which is none of its tools")
    return Reference(tuple(calls), described.get("ordered", False), schemas)


def read_calls(text: str) -> list[Call] | None:
    """The calls that a text notes; None if it notes them in neither notation."""
    if len(text) > LARGEST:
        return None
    text = text.strip()
    return _json_calls(text) if text.startswith("[") else _short_calls(text)


def _json_calls(text: str) -> list[Call] | None:
    try:
        return _calls_of(_loaded(text, LARGEST))
    except BadReference:
        return None


def _loaded(text: str, largest: int) -> Any:
    """The JSON of a text. Raises BadReference where it is none, too long or too deep."""
    if len(text) > largest or _depth(text) > DEEPEST:
        raise BadReference(f"longer than {largest} characters, or deeper than {DEEPEST} brackets")
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError):
        raise BadReference("the reference is no JSON") from None


def _calls_of(rows: Any) -> list[Call] | None:
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


def equal(gold: Sequence[Call], found: Sequence[Call], *, ordered: bool = False) -> bool:
    """Whether both are the same calls, in any order unless the order counts. 1, 1.0, true and "1" are four values."""
    mine, theirs = list(map(_text, gold)), list(map(_text, found))
    return mine == theirs if ordered else Counter(mine) == Counter(theirs)


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
            best, negative_index = max(rated)
            score += best
            unused.remove(-negative_index)
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


def verdict_of(gold: Sequence[Call] | Reference, text: str) -> Verdict:
    """Whether a text notes the same calls."""
    reference = gold if isinstance(gold, Reference) else Reference(tuple(gold))
    found = read_calls(text)
    if found is None:
        return Verdict.fail("format", "no list of calls")
    right, said = reference.read(reference.calls), reference.read(found)
    if equal(right, said, ordered=reference.ordered):
        return Verdict.ok(_noted(found))
    why = "the same calls in another order" if equal(right, said) else "other calls"
    return Verdict.fail("wrong", why, _noted(found))


def _noted(calls: Sequence[Call]) -> str:
    rows: list[Any] = [{"name": call.name, "arguments": call.arguments} for call in calls]
    return json.dumps(rows, sort_keys=True)[:2000]


def explain(pairs: Sequence[tuple[str, str]]) -> list[Explained]:
    """Each (reference, response) explained; a reference as `read_reference` reads it.

    explain([("wake(at=7)", '[{"name": "wake", "arguments": {"at": 7}}]')])
    """
    return [_explained(gold, response) for gold, response in pairs]


def _explained(text: str, response: str) -> Explained:
    try:
        reference = read_reference(text)
    except BadReference as error:
        return bad_gold(str(error))
    verdict, gold = verdict_of(reference, response), _noted(reference.calls)
    found = read_calls(response)
    if found is None:
        why = 'a JSON list of {"name", "arguments"} or wake(at=7);mail(to=bob) was expected'
        return Explained(verdict, gold, None, "", "notation", why)
    match = matched(reference.read(reference.calls), reference.read(found))
    why = f"the graded match is {match:.3g} of 3" + (f"; {verdict.detail}" if "order" in verdict.detail else "")
    return Explained(verdict, gold, verdict.answer, "", "calls", why)
