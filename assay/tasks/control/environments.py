"""`env:NAME`: the environments of gymnasium. A problem is the seed of a reset; an answer is right if its return reaches
what the environment counts as solved.
"""

from __future__ import annotations

import functools

import numpy as np

from assay.tasks.abilities import OwnPolicy
from assay.tasks.control.acting import acted
from assay.tasks.task import Checker, Generator, Solution, Spec, Task, Wordings
from assay.worlds.gymnasium_worlds import environment


@functools.cache
def environment_task(name: str) -> Task:
    """The task `env:NAME`."""
    world = environment(name)
    return Task(
        name=f"env:{name}",
        domain="control",
        summary=f"gymnasium's {name}; its only level",
        generator=Generator(levels=range(1, 2), instance=_instance, canonical=lambda spec: str(spec["seed"])),
        wordings=Wordings(
            compact=lambda spec: f"{name} {spec['seed']}",
            natural=lambda spec: f"{name}, reset with the seed {spec['seed']}. Put your actions in \\boxed{{...}}.",
            solve=_solve,
        ),
        checker=Checker(check=functools.partial(acted, world)),
        world=world,
        abilities=(OwnPolicy("mlp"),),
    )


def _instance(generator: np.random.Generator, level: int) -> Spec:
    return {"seed": int(generator.integers(2**31))}


def _solve(spec: Spec) -> Solution:
    """None is known."""
    return Solution("")
