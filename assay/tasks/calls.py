"""Turn a request into calls of tools. Values come in any order, and their kind says which parameter they are for."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from assay.tasks.abilities import OwnBase
from assay.tasks.task import Checker, Generator, Solution, Spec, Task, Wordings
from assay.types import Verdict
from assay.verifiers.calls import Call, matched, read_calls, verdict_of

PEOPLE = ("ann", "bob", "cem", "dai", "eva", "fay")
KINDS: Mapping[str, str] = {"to": "a person", "at": "an hour, as 7h", "for": "minutes, as 5m", "room": "as r3"}
TOOLS: Mapping[str, tuple[str, ...]] = {
    "wake": ("at",),
    "mail": ("to", "at"),
    "call": ("to", "for"),
    "move": ("to", "room"),
    "book": ("room", "at", "for"),
}


def _instance(generator: np.random.Generator, level: int) -> Spec:
    calls, asked = [], []
    for _ in range(level):
        name = list(TOOLS)[int(generator.integers(len(TOOLS)))]
        arguments = {key: _drawn(generator, key) for key in TOOLS[name]}
        order = generator.permutation(len(arguments)).tolist()
        keys = list(arguments)
        asked.append([name, *(_said(keys[i], arguments[keys[i]]) for i in order)])
        calls.append({"name": name, "arguments": arguments})
    return {"calls": calls, "asked": asked}


def _drawn(generator: np.random.Generator, key: str) -> str | int:
    number = int(generator.integers(1, 10))
    return PEOPLE[number % len(PEOPLE)] if key == "to" else number


def _said(key: str, value: str | int) -> str:
    return {"to": f"{value}", "at": f"{value}h", "for": f"{value}m", "room": f"r{value}"}[key]


def _canonical(spec: Spec) -> str:
    return ";".join(" ".join(words) for words in spec["asked"])


def _compact(spec: Spec) -> str:
    return f"J {_canonical(spec)}"


def _natural(spec: Spec) -> str:
    tools = "\n".join(f"- {name}({', '.join(keys)})" for name, keys in TOOLS.items())
    kinds = "; ".join(f"`{key}` is {kind}" for key, kind in KINDS.items())
    wishes = ", then ".join(f"{words[0]} with {' and '.join(words[1:])}" for words in spec["asked"])
    return (
        f"You have these tools:\n{tools}\nParameters: {kinds}; numbers are given without their letter.\n"
        f"Request: {wishes}.\nGive the calls as a JSON list of objects with `name` and `arguments` in \\boxed{{...}}, "
        'for example \\boxed{[{"name": "wake", "arguments": {"at": 7}}]}.'
    )


def _gold(spec: Spec) -> list[Call]:
    return [Call(call["name"], call["arguments"]) for call in spec["calls"]]


def short(calls: Sequence[Call]) -> str:
    """Calls in the notation of small models: `wake(at=7);mail(to=bob,at=5)`."""
    return ";".join(f"{c.name}({','.join(f'{key}={value}' for key, value in c.arguments.items())})" for c in calls)


def _solve(spec: Spec) -> Solution:
    return Solution(short(_gold(spec)))


def _check(spec: Spec, text: str) -> Verdict:
    """The verdict, with the graded match as the score `calls`."""
    gold = _gold(spec)
    return dataclasses.replace(verdict_of(gold, text), scores={"calls": matched(gold, read_calls(text))})


CALLS = Task(
    name="calls",
    domain="tools",
    summary="Requests as calls of tools with named parameters; the level is the number of calls.",
    generator=Generator(levels=range(1, 5), instance=_instance, canonical=_canonical),
    wordings=Wordings(compact=_compact, natural=_natural, solve=_solve),
    checker=Checker(check=_check),
    abilities=(OwnBase("requests as one call of a tool", levels=(1,), num_steps=90),),
)
