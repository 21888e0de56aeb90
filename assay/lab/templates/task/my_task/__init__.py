"""Fill in: what the task asks. Here it asks for a sum of digits: the answer to `T 3+9+4` is `16`."""

from __future__ import annotations

import numpy as np

from assay.tasks.abilities import OwnBase
from assay.tasks.task import Checker, Generator, Solution, Spec, Task, Wordings
from assay.types import Verdict


def instance(generator: np.random.Generator, level: int) -> Spec:
    """A random instance as plain JSON data; the level is the number of additions."""
    return {"digits": generator.integers(0, 10, size=level + 1).tolist()}


def canonical(spec: Spec) -> str:
    """The content that identifies an instance. The order of the digits does not matter, so they are sorted."""
    return "".join(map(str, sorted(spec["digits"])))


def compact(spec: Spec) -> str:
    return "T " + "+".join(map(str, spec["digits"]))


def natural(spec: Spec) -> str:
    return f"What is the sum of {', '.join(map(str, spec['digits']))}? Give the number in \\boxed{{}}."


def solve(spec: Spec) -> Solution:
    """Running sums as worked steps, then the answer."""
    sums = np.cumsum(spec["digits"]).tolist()
    return Solution(answer=str(sums[-1]), steps=",".join(map(str, sums[1:])))


def check(spec: Spec, answer: str) -> Verdict:
    """The verdict on an answer. The checker never raises an exception, whatever the text is."""
    if not (answer.isascii() and answer.isdigit() and len(answer) <= 4):
        return Verdict.fail("format", "expected a whole number")
    value = int(answer)
    return Verdict.ok(str(value)) if value == sum(spec["digits"]) else Verdict.fail("wrong", answer=str(value))


MY_TASK = Task(
    name="my-task",
    domain="arithmetic",
    summary="the sum of digits; the level is the number of additions",
    generator=Generator(levels=range(4, 9), instance=instance, canonical=canonical),
    wordings=Wordings(compact=compact, natural=natural, solve=solve),
    checker=Checker(check=check),
    abilities=(OwnBase("sums of five digits", levels=(4,), num_steps=150),),
)
