"""Chains of + - * modulo a prime, evaluated strictly from left to right.

Every step is a bijection of Z_p, because the multiplier is never zero, and the start is uniform.
So the answer is exactly uniform on Z_p, and a blind guess is right with probability 1/p.
"""

from __future__ import annotations

import re
from functools import partial

import numpy as np

from assay.tasks.abilities import OwnBase
from assay.tasks.harder import Hardening
from assay.tasks.task import Checker, Generator, Solution, Spec, Task, Wordings
from assay.types import Verdict

_OPERATORS = "+-*"
_MAX_DIGITS = 9
_ANSWER = re.compile(r"[0-9]+")
_QUESTION = re.compile(r"M([0-9]{1,3}) ([0-9]{1,3})((?:[-+*][0-9]{1,3})+)")
_STEP = re.compile(r"([-+*])([0-9]+)")
_LONGEST = 12  # operations
_SPOILT = 0.3  # the share of variants in which something else than a pair was inserted


def _instance(generator: np.random.Generator, level: int, *, prime: int) -> Spec:
    start, *draws = generator.random(1 + 2 * level).tolist()
    operators = [_OPERATORS[int(u * 3)] for u in draws[:level]]
    # Operands 0 and 1 are left out: adding 0 or multiplying by 1 changes nothing.
    operands = [2 + int(u * (prime - 2)) for u in draws[level:]]
    return {"p": prime, "start": int(start * prime), "steps": [[o, k] for o, k in zip(operators, operands)]}


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


def _steps(spec: Spec) -> list[tuple[int, str, int, int]]:
    """For each step (the value before it, the operator, the operand, the value after it)."""
    values = _values(spec)
    return [(v, o, k, after) for v, (o, k), after in zip([spec["start"], *values], spec["steps"], values)]


def _solve(spec: Spec) -> Solution:
    compact = ",".join(f"{v}{o}{k}={after}" for v, o, k, after in _steps(spec))
    natural = "\n".join(f"{v} {o} {k} = {after} (mod {spec['p']})" for v, o, k, after in _steps(spec))
    return Solution(str(_values(spec)[-1]), compact, natural)


def _others(spec: Spec) -> list[Solution]:
    """Solutions in other styles: the values alone, each with its value before reduction, all with the start first."""
    p, values = spec["p"], _values(spec)
    whole = {"+": lambda v, k: v + k, "-": lambda v, k: v - k, "*": lambda v, k: v * k}
    styles = (
        ([str(v) for v in values], ",", "\n"),
        ([f"{whole[o](v, k)}:{after}" for v, o, k, after in _steps(spec)], ",", f" (mod {p})\n"),
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


def _vary(generator: np.random.Generator, spec: Spec, *, prime: int) -> Spec:
    """The chain with two operations more that undo each other, at any place; with probability `_SPOILT` with a single
    operation more, which mostly changes the answer. A chain that is too long already stays as it is.
    """
    steps, operand = list(spec["steps"]), 2 + int(generator.integers(prime - 2))
    place, first = int(generator.integers(len(steps) + 1)), "+-"[int(generator.integers(2))]
    new = [[first, operand], ["-" if first == "+" else "+", operand]]
    if generator.random() < _SPOILT:
        new = [[_OPERATORS[int(generator.integers(3))], operand]]
    longer = [*steps[:place], *new, *steps[place:]]
    return {**spec, "steps": longer if len(longer) <= _LONGEST else steps}


def _read(text: str, *, prime: int) -> Spec | None:
    """The chain that a question in compact wording asks; None if it asks none."""
    found = _QUESTION.fullmatch(text.strip())
    if found is None or int(found[1]) != prime or int(found[2]) >= prime:
        return None
    steps = [[operator, int(operand)] for operator, operand in _STEP.findall(found[3])]
    if len(steps) > _LONGEST or not all(2 <= operand < prime for _, operand in steps):
        return None
    spec = {"p": prime, "start": int(found[2]), "steps": steps}
    return spec if _compact(spec) == text.strip() else None


def _modulo(prime: int, name: str, *, first: int, base: OwnBase) -> Task:
    return Task(
        name=name,
        domain="arithmetic",
        summary=f"Evaluate a chain of + - * modulo {prime} from left to right; the level is the number of operations.",
        generator=Generator(
            levels=range(1, _LONGEST + 1), first=first, instance=partial(_instance, prime=prime), canonical=_canonical
        ),
        wordings=Wordings(compact=_compact, natural=_natural, solve=_solve, others=_others),
        checker=Checker(check=_check),
        abilities=(Hardening(vary=partial(_vary, prime=prime), read=partial(_read, prime=prime)), base),
    )


MOD_CHAIN = _modulo(23, "mod-chain", first=1, base=OwnBase("one operation modulo 23", levels=(1,), num_steps=500))
# Every value has one digit, so the smallest models soon learn its tables. The first levels have few different chains.
MOD_CHAIN_7 = _modulo(
    7, "mod-chain-7", first=3, base=OwnBase("chains of three operations modulo 7", levels=(3,), num_steps=90)
)
