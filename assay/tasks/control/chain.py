"""`chain:5`: a walk along a chain of states whose ends pay, little nearby and more at the far end."""

from __future__ import annotations

import functools

import numpy as np

from assay.errors import UsageError
from assay.tasks.abilities import OwnPolicy
from assay.tasks.control.acting import acted
from assay.tasks.task import Checker, Generator, Solution, Spec, Task, Wordings
from assay.worlds.chain import LEFT, RIGHT, chain

LEAST, MOST = 3, 64  # states
PATIENCE = 3  # steps for each state, after which a walk is cut off


@functools.cache
def chain_task(name: str) -> Task:
    """The task `chain:N` of a chain of N states."""
    if not (name.isdecimal() and len(name) < 4 and LEAST <= int(name) <= MOST):
        raise UsageError(f"a chain has {LEAST} to {MOST} states, as in chain:5, not '{name[:40]}'.")
    states = int(name)
    world = chain(states)
    return Task(
        name=f"chain:{states}",
        domain="control",
        summary=f"a walk to the far end of a chain of {states} states; its only level",
        generator=Generator(
            levels=range(1, 2),
            instance=functools.partial(_instance, states),
            canonical=lambda spec: f"{spec['start']} {spec['seed']}",
        ),
        wordings=Wordings(
            compact=lambda spec: f"chain {states} from {spec['start']}",
            natural=functools.partial(_words, states),
            solve=functools.partial(_solve, states),
        ),
        checker=Checker(check=functools.partial(acted, world)),
        world=world,
        abilities=(OwnPolicy("tabular"),),
    )


def _instance(states: int, generator: np.random.Generator, level: int) -> Spec:
    """A walk that begins at any state between the ends. Its seed tells it apart from other walks."""
    start = 1 + int(generator.integers(states - 2))
    return {"start": start, "most": PATIENCE * states, "seed": int(generator.integers(2**31))}


def _words(states: int, spec: Spec) -> str:
    return (
        f"A chain has the states 0 to {states - 1}, and you are at state {spec['start']}. Write {LEFT} to go left and "
        f"{RIGHT} to go right, with spaces between. Both ends pay, the right one most. Put your moves in "
        "\\boxed{...}."
    )


def _solve(states: int, spec: Spec) -> Solution:
    """Straight to the far end."""
    return Solution(" ".join([str(RIGHT)] * (states - 1 - spec["start"])))
