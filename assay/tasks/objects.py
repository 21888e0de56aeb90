"""Write a JSON object with given fields and values. It is read strictly, and compared by value and by type.

Nothing may stand around the object but a fence of code, "```json" or "```" and its end, which models write by habit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from assay.tasks.task import Checker, Generator, Solution, Spec, Task, Wordings
from assay.types import Verdict

MOST = 1000  # characters of an answer
TEXTS = {
    "name": ["Ava", "Ben", "Carla", "David", "Emma", "Frank", "Grace", "Henry", "Iris", "Jack", "Kate", "Leo"],
    "city": ["Paris", "London", "Rome", "Berlin", "Madrid", "Oslo", "Cairo", "Tokyo", "Lima", "Boston"],
    "color": ["red", "blue", "green", "yellow", "black", "white", "purple", "orange"],
    "animal": ["cat", "dog", "horse", "rabbit", "parrot", "goat", "tiger", "owl"],
}
NUMBERS = {"age": 99, "price": 500, "year": 2030, "count": 50, "height": 220, "score": 100}
FLAGS = ("member", "open")
KEYS = (*TEXTS, *NUMBERS, *FLAGS)
_FENCED = re.compile(r"```(?:json)?\n(.*)\n?```", re.DOTALL)


class _Unread(ValueError):
    """A text is no strict JSON."""


def _instance(generator: np.random.Generator, level: int) -> Spec:
    keys = [KEYS[int(i)] for i in generator.permutation(len(KEYS))[:level]]
    return {"fields": {key: _drawn(generator, key) for key in keys}}


def _drawn(generator: np.random.Generator, key: str) -> str | int | bool:
    if key in TEXTS:
        return TEXTS[key][int(generator.integers(len(TEXTS[key])))]
    return int(generator.integers(1, NUMBERS[key] + 1)) if key in NUMBERS else bool(generator.integers(2))


def _canonical(spec: Spec) -> str:
    return json.dumps(spec["fields"], sort_keys=True)


def _natural(spec: Spec) -> str:
    *first, last = [f'"{key}" is {json.dumps(value)}' for key, value in spec["fields"].items()]
    return f"Write a JSON object in which {', '.join(first)} and {last}."


def _solve(spec: Spec) -> Solution:
    return Solution(json.dumps(spec["fields"]))


def _pairs(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise _Unread("a key stands twice")
    return dict(pairs)


def _constant(name: str) -> NoReturn:
    raise _Unread(f"{name} is no JSON")


def read(text: str) -> Any:
    """The value of a JSON text, or of a fence of code with one. Raises _Unread, a ValueError, for any other text.

    read('```json\\n{"age": 3}\\n```')  # {"age": 3}
    """
    if len(text) > MOST:
        raise _Unread("far longer than a right answer")
    fenced = _FENCED.fullmatch(text.strip())
    try:
        return json.loads(fenced[1] if fenced else text, object_pairs_hook=_pairs, parse_constant=_constant)
    except RecursionError as error:
        raise _Unread("nested too deeply") from error


def _typed(fields: Any) -> dict[str, tuple[type, Any]]:
    """With the types, as `1 == True == 1.0` in Python."""
    return {key: (type(value), value) for key, value in fields.items()}


def _check(spec: Spec, text: str) -> Verdict:
    try:
        found = read(text)
    except ValueError as error:
        return Verdict.fail("format", str(error)[:100])
    if not isinstance(found, dict) or _typed(found) != _typed(spec["fields"]):
        return Verdict.fail("wrong", "other fields or values")
    return Verdict.ok(json.dumps(found, sort_keys=True))


OBJECT = Task(
    name="object",
    domain="instructions",
    summary="Write a JSON object with given fields and values; the level is the number of fields.",
    generator=Generator(levels=range(2, 7), instance=_instance, canonical=_canonical),
    wordings=Wordings(
        compact=lambda spec: f"o {','.join(f'{key}={json.dumps(value)}' for key, value in spec['fields'].items())}",
        natural=_natural,
        solve=_solve,
        manner="Answer with the JSON only.",
        unmarked=True,
    ),
    checker=Checker(check=_check),
)
