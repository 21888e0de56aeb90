"""Following pointers in a key-value store that only a tool can read.

The policy writes `[ax]` to ask for the value of field x of object a, and the reply follows at once. Some
calls fail although they are correct. The instance decides which calls fail, by their number in the answer, and asking
again helps. Every value is uniform, so without the tool an answer is right with probability 1/26.

Fields are small letters, so `[aX]` is an error that the policy could have avoided. The worked solutions of
`lookup-strict` put this error before some of their calls, so that a policy which imitates them makes errors of its own
in right answers.
"""

from __future__ import annotations

import re
import string

import numpy as np

from assay.rng import digest
from assay.tasks.abilities import OwnBase
from assay.tasks.task import Checker, Generator, Solution, Spec, Task, Wordings
from assay.types import Verdict
from assay.worlds.tools import Scene, ToolError, takes_text, tools

OBJECTS = string.ascii_lowercase
FIELDS = "wxyz"
ERROR = "!"
_CALL = re.compile(r"([a-z])([wxyz])")
_MAX_CHARACTERS = 16


def _instance(generator: np.random.Generator, level: int, error_rate: float) -> Spec:
    """A random instance. Its store has a string of values for each field, in the order of the objects."""
    draws = generator.random(1 + level + len(FIELDS) * len(OBJECTS)).tolist()
    start, *letters = (OBJECTS[int(u * len(OBJECTS))] for u in [draws[0], *draws[1 + level :]])
    values = "".join(letters)
    return {
        "start": start,
        "fields": "".join(FIELDS[int(u * len(FIELDS))] for u in draws[1 : 1 + level]),
        "store": {field: values[i * len(OBJECTS) :][: len(OBJECTS)] for i, field in enumerate(FIELDS)},
        "error_rate": error_rate,
    }


def _value(spec: Spec, key: str, field: str) -> str:
    return spec["store"][field][OBJECTS.index(key)]


def _objects(spec: Spec) -> list[str]:
    """The object at the start, and the object after each pointer."""
    found = [spec["start"]]
    for field in spec["fields"]:
        found.append(_value(spec, found[-1], field))
    return found


def _fails(spec: Spec, call: int) -> bool:
    return int(digest("lookup", _canonical(spec), call), 16) < spec["error_rate"] * 2**64


def _look_up(scene: Scene, pointer: str) -> str:
    """The value of a field of an object. Calls that cannot be read count among those of which some fail."""
    call = _CALL.fullmatch(pointer)
    if call is None or _fails(scene.spec, scene.calls):
        raise ToolError("the look-up failed")
    return _value(scene.spec, *call.groups())


def _canonical(spec: Spec) -> str:
    return f"{spec['start']}{spec['fields']} {' '.join(spec['store'][field] for field in FIELDS)}"


def _slips(spec: Spec, step: int, share: float) -> bool:
    return int(digest("slip", _canonical(spec), step), 16) < share * 2**64


def _natural(spec: Spec) -> str:
    path = ", then ".join(f"field {field}" for field in spec["fields"])
    return (
        "A store holds objects a to z; each of their fields w, x, y and z holds the name of an object. Write [ax] to "
        f"look up field x of object a: the reply follows at once, or {ERROR} if the look-up failed, in which case you "
        f"may ask again. Start at object {spec['start']} and follow {path}, each of the object found before. Which "
        "object do you end at? Give its letter in \\boxed{...}."
    )


def _solve(spec: Spec, slips: float) -> Solution:
    """All calls with their replies, failed ones too. In a share of the steps, a
    call with a capital letter comes first.
    """
    steps, calls = "", 0
    objects = _objects(spec)
    for step, (key, field) in enumerate(zip(objects, spec["fields"])):
        if _slips(spec, step, slips):
            steps, calls = f"{steps}[{key}{field.upper()}]{ERROR}", calls + 1
        calls += 1
        while _fails(spec, calls):
            steps, calls = f"{steps}[{key}{field}]{ERROR}", calls + 1
        steps += f"[{key}{field}]{_value(spec, key, field)}"
    return Solution(objects[-1], steps)


def _check(spec: Spec, text: str) -> Verdict:
    answer = text.strip() if len(text) <= _MAX_CHARACTERS else ""
    if answer not in OBJECTS or len(answer) != 1:
        return Verdict.fail("format", "expected one letter from a to z")
    return Verdict.ok(answer) if answer == _objects(spec)[-1] else Verdict.fail("wrong", answer=answer)


def _lookup(name: str, tag: str, fails: str, store: str, *, error_rate: float, slips: float = 0.0) -> Task:
    return Task(
        name=name,
        domain="tools",
        summary=f"Follow pointers in a store by look-ups of which {fails}; the level is their number.",
        generator=Generator(
            levels=range(2, 9),
            instance=lambda generator, level: _instance(generator, level, error_rate),
            canonical=_canonical,
        ),
        wordings=Wordings(
            compact=lambda spec: f"{tag} {spec['start']}{spec['fields']}",
            natural=_natural,
            solve=lambda spec: _solve(spec, slips),
        ),
        checker=Checker(check=_check),
        abilities=(OwnBase(f"two look-ups in a store{store}", levels=(2,), num_steps=43, context=256),),
        world=tools((takes_text("look", "pointer"), _look_up), explain=lambda why: ERROR),
    )


LOOKUP = _lookup("lookup-tool", "T", "10% fail", "", error_rate=0.1)
LOOKUP_FAULTY = _lookup("lookup-faulty", "U", "20% fail", " that often fails", error_rate=0.2)
LOOKUP_STRICT = _lookup(
    "lookup-strict", "V", "those with a capital fail", " that takes small letters only", error_rate=0.0, slips=0.5
)
