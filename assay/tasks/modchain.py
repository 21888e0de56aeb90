"""Chains of + - * modulo a prime, evaluated strictly from left to right.

Every step is a bijection of Z_p (the multiplier is never zero) and the start is uniform, so the answer is exactly
uniform on Z_p: a blind guess is right with probability 1/p.
"""

from __future__ import annotations

import re

import numpy as np

from assay.tasks.task import Solution, Spec, Task
from assay.types import Verdict

PRIME = 23
_OPERATORS = "+-*"
_MAX_DIGITS = 9
_ANSWER = re.compile(r"[0-9]+")


def _instance(generator: np.random.Generator, level: int) -> Spec:
    start, *draws = generator.random(1 + 2 * level).tolist()
    operators = [_OPERATORS[int(u * 3)] for u in draws[:level]]
    # Adding 0 or multiplying by 1 would be steps that show nothing.
    operands = [2 + int(u * (PRIME - 2)) for u in draws[level:]]
    return {"p": PRIME, "start": int(start * PRIME), "steps": [[o, k] for o, k in zip(operators, operands)]}


def _chain(spec: Spec) -> str:
    return f"{spec['start']}" + "".join(f"{operator}{operand}" for operator, operand in spec["steps"])


def _values(spec: Spec) -> list[int]:
    """The running value after each step."""
    value, p, values = spec["start"], spec["p"], []
    for operator, operand in spec["steps"]:
        if operator == "+":
            value = (value + operand) % p
        elif operator == "-":
            value = (value - operand) % p
        else:
            value = value * operand % p
        values.append(value)
    return values


def _canonical(spec: Spec) -> str:
    return f"{_chain(spec)} mod {spec['p']}"


def _compact(spec: Spec) -> str:
    return f"M{spec['p']} {_chain(spec)}"


def _natural(spec: Spec) -> str:
    p = spec["p"]
    chain = f"{spec['start']} " + " ".join(f"{operator} {operand}" for operator, operand in spec["steps"])
    return (
        f"Compute with whole numbers modulo {p}. Start with the first number and apply the operations strictly from "
        f"left to right (multiplication does not bind more tightly), reducing modulo {p} after each one:\n\n{chain}\n\n"
        f"Show the value after each operation. Give the final value, a whole number from 0 to {p - 1}, "
        "in \\boxed{...}."
    )


def _solve(spec: Spec) -> Solution:
    values, lines, value = _values(spec), [], spec["start"]
    for (operator, operand), after in zip(spec["steps"], values):
        lines.append(f"{value} {operator} {operand} = {after} (mod {spec['p']})")
        value = after
    return Solution(str(values[-1]), ",".join(map(str, values)), "\n".join(lines))


def _others(spec: Spec) -> list[Solution]:
    """The same values with the operations, with what was reduced, and with the start before them."""
    p, values = spec["p"], _values(spec)
    befores = [spec["start"], *values[:-1]]
    steps = [(v, o, k, after) for v, (o, k), after in zip(befores, spec["steps"], values)]
    whole = {"+": lambda v, k: v + k, "-": lambda v, k: v - k, "*": lambda v, k: v * k}
    styles = (
        ([f"{v}{o}{k}={after}" for v, o, k, after in steps], ",", "\n"),
        ([f"{whole[o](v, k)}:{after}" for v, o, k, after in steps], ",", f" (mod {p})\n"),
        ([str(v) for v in (spec["start"], *values)], ",", " -> "),
    )
    return [Solution(str(values[-1]), mark.join(lines), natural.join(lines)) for lines, mark, natural in styles]


def _check(spec: Spec, text: str) -> Verdict:
    text = text.strip()
    if len(text) > _MAX_DIGITS or _ANSWER.fullmatch(text) is None:
        return Verdict.fail("format", f"expected a whole number from 0 to {spec['p'] - 1}")
    answer = int(text)
    if answer == _values(spec)[-1]:
        return Verdict.ok(str(answer))
    return Verdict.fail("wrong", answer=str(answer))


MOD_CHAIN = Task(
    name="mod-chain",
    domain="arithmetic",
    summary=f"Evaluate a chain of + - * modulo {PRIME} from left to right; the level is the number of operations.",
    levels=range(1, 13),
    instance=_instance,
    canonical=_canonical,
    compact=_compact,
    natural=_natural,
    solve=_solve,
    check=_check,
    others=_others,
)
