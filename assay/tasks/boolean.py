"""Satisfy a boolean formula, a conjunction of clauses of two or three literals. Few assignments satisfy it.

An instance is built around a hidden assignment that is drawn uniformly, and negating a variable everywhere does not
change the distribution of formulas. So every constant answer is right with the same probability, at most
MOST_SATISFYING.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from assay.tasks.abilities import OwnBase
from assay.tasks.assignments import columns, everything, read, search, table
from assay.tasks.task import Checker, Generator, Solution, Spec, Task, Wordings
from assay.types import Verdict

MOST_SATISFYING = 0.04  # the largest share of all assignments that may satisfy a formula
_NAMES = "abcdefgh"
_OPERATORS = "|||^="
_DRAWS = 8  # random numbers for a clause
_WORDS = {"|": " or ", "^": " xor ", "=": " iff "}


def _instance(generator: np.random.Generator, level: int) -> Spec:
    hidden = int(generator.random() * 2**level)
    satisfying, clauses = everything(level), []
    while satisfying.bit_count() > MOST_SATISFYING * 2**level:
        for draws in generator.random((8, _DRAWS)).tolist():
            clause = _clause(draws, level)
            if not _clause_table(clause, level) >> hidden & 1:
                clause = clause[1:] if clause[0] == "~" else f"~{clause}"
            fewer = satisfying & _clause_table(clause, level)
            if fewer == satisfying:
                continue
            satisfying = fewer
            clauses.append(clause)
            if satisfying.bit_count() <= MOST_SATISFYING * 2**level:
                break
    return {"variables": level, "clauses": clauses}


def _clause(draws: Sequence[float], count: int) -> str:
    """Literals on different variables, all joined by one operator: `a|~b|c`, `a^~d`, `c=e`."""
    operator = _OPERATORS[int(draws[0] * len(_OPERATORS))]
    width = 3 if operator == "|" and draws[1] < 0.5 else 2
    left = list(range(count))
    chosen = sorted(left.pop(int(u * len(left))) for u in draws[2 : 2 + width])
    return operator.join(f"{'~' if u < 0.5 else ''}{_NAMES[i]}" for i, u in zip(chosen, draws[5:]))


def _operator(clause: str) -> str:
    return next(o for o in _WORDS if o in clause)


@functools.lru_cache(maxsize=1 << 14)
def _clause_table(clause: str, count: int) -> int:
    """The truth table of a clause. Under all three operators, negating the
    first literal of a false clause makes it true.
    """
    full, variables, operator = everything(count), columns(count), _operator(clause)
    value: int | None = None
    for literal in clause.split(operator):
        column = variables[_NAMES.index(literal[-1])]
        column = full ^ column if literal[0] == "~" else column
        value = column if value is None else table(operator, value, column, full)
    return full if value is None else value


def _canonical(spec: Spec) -> str:
    return f"{spec['variables']}:{','.join(sorted(spec['clauses']))}"


def _compact(spec: Spec) -> str:
    return f"B{spec['variables']} {','.join(spec['clauses'])}"


def _natural(spec: Spec) -> str:
    count = spec["variables"]
    names = ", ".join(_NAMES[:count])
    clauses = [clause.replace("~", "not ") for clause in spec["clauses"]]
    lines = "\n".join(f"- {clause.replace(_operator(clause), _WORDS[_operator(clause)])}" for clause in clauses)
    return (
        f"Find truth values of the variables {names} that make all of these statements true at once (xor: exactly one "
        f"of the two is true; iff: both are true or both are false):\n\n{lines}\n\n"
        f"Give the values of {names} in this order as {count} digits, 1 for true and 0 for false, in \\boxed{{...}}, "
        f"for example \\boxed{{{'01' * 4:.{count}}}}."
    )


def _solve(spec: Spec) -> Solution:
    count = spec["variables"]
    answer, trace = search(count, [_clause_table(clause, count) for clause in spec["clauses"]], _NAMES, "01")
    return Solution(
        answer,
        "".join(trace),
        "Trying values and what follows from them (! is a contradiction, which takes back the last choice): "
        + " ".join(trace),
    )


def _check(spec: Spec, text: str) -> Verdict:
    count = spec["variables"]
    answer = read(text, count, "01")
    if answer is None:
        return Verdict.fail("format", f"expected {count} digits, each 0 or 1")
    row = int(answer, 2)
    for clause in spec["clauses"]:
        if not _clause_table(clause, count) >> row & 1:
            return Verdict.fail("wrong", f"'{clause}' is false", answer)
    return Verdict.ok(answer)


BOOL = Task(
    name="bool",
    domain="logic",
    summary="Satisfy a boolean formula that few assignments satisfy; the level is the number of variables.",
    generator=Generator(levels=range(5, 9), instance=_instance, canonical=_canonical),
    wordings=Wordings(compact=_compact, natural=_natural, solve=_solve),
    checker=Checker(check=_check),
    abilities=(OwnBase("formulas of five variables", levels=(5,), num_steps=2300, context=256, learning_rate=2e-3),),
)
