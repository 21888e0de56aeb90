"""Knights and knaves: knights say only what is true, knaves only what is false. Exactly one solution.

Each inhabitant makes one statement. Kinds are drawn uniformly, and calling one inhabitant a knave where he is called a
knight, and the other way round, does not change the distribution of puzzles. So every constant answer is right with
probability 2^-n.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from assay.tasks.abilities import OwnBase
from assay.tasks.assignments import columns, everything, read, search, table
from assay.tasks.task import Checker, Generator, Solution, Spec, Task, Wordings
from assay.types import Verdict

_NAMES = "abcdefgh"
_KINDS = "NK"  # knave, knight
_DRAWS = 5  # random numbers for a statement
_FORMS = ("", "&", "|", "=", "^")
_COMPARISONS = frozenset("=^")  # of the kinds of two inhabitants; they have no signs, which would add nothing
_OPPOSITE = {"": "", "&": "|", "|": "&", "=": "^", "^": "="}

Statement = tuple[str, tuple[int, ...], tuple[bool, ...]]  # operator, inhabitants, which of them are called knights


def _instance(generator: np.random.Generator, level: int) -> Spec:
    while True:
        kinds, *draws = generator.random(1 + _DRAWS * level).tolist()
        hidden = int(kinds * 2**level)
        statements, rows = [], everything(level)
        for speaker in range(level):
            statement = _statement(draws[_DRAWS * speaker :], speaker, level)
            if not _consistent(speaker, statement, level) >> hidden & 1:
                statement = _negated(statement)
            rows &= _consistent(speaker, statement, level)
            statements.append(statement)
        if rows.bit_count() == 1:
            return {"statements": [_text(statement) for statement in statements]}


def _statement(draws: Sequence[float], speaker: int, count: int) -> Statement:
    """A random statement about one or two of the other inhabitants."""
    operator = _FORMS[int(draws[0] * len(_FORMS))]
    others = [i for i in range(count) if i != speaker]
    about = sorted(others.pop(int(u * len(others))) for u in draws[1 : 2 + bool(operator)])
    signs = tuple(operator in _COMPARISONS or u < 0.5 for u in draws[3 : 3 + len(about)])
    return operator, tuple(about), signs


def _negated(statement: Statement) -> Statement:
    operator, about, signs = statement
    flipped = signs if operator in _COMPARISONS else tuple(not sign for sign in signs)
    return _OPPOSITE[operator], about, flipped


def _text(statement: Statement) -> str:
    operator, about, signs = statement
    return operator.join(("" if sign else "~") + _NAMES[i] for i, sign in zip(about, signs))


@functools.lru_cache(maxsize=1 << 12)
def _parsed(text: str) -> Statement:
    operator = next((form for form in _FORMS[1:] if form in text), "")
    literals = text.split(operator) if operator else [text]
    return operator, tuple(_NAMES.index(x[-1]) for x in literals), tuple(x[0] != "~" for x in literals)


@functools.lru_cache(maxsize=1 << 14)
def _consistent(speaker: int, statement: Statement, count: int) -> int:
    """The truth table of "the speaker is a knight exactly if the statement is true"."""
    operator, about, signs = statement
    full, kinds = everything(count), columns(count)
    first, *rest = (kinds[i] if sign else full ^ kinds[i] for i, sign in zip(about, signs))
    truth = table(operator, first, rest[0], full) if rest else first
    return table("=", kinds[speaker], truth, full)


def _tables(spec: Spec) -> list[int]:
    statements = spec["statements"]
    return [_consistent(speaker, _parsed(text), len(statements)) for speaker, text in enumerate(statements)]


def _canonical(spec: Spec) -> str:
    return ",".join(spec["statements"])


def _compact(spec: Spec) -> str:
    return "K " + " ".join(f"{_NAMES[speaker]}:{text}" for speaker, text in enumerate(spec["statements"]))


def _said(text: str) -> str:
    operator, about, signs = _parsed(text)
    names = [_NAMES[i].upper() for i in about]
    if operator in _COMPARISONS:
        return f"{names[0]} and {names[1]} are of {'the same kind' if operator == '=' else 'different kinds'}"
    joint = {"": "", "&": " and ", "|": " or "}[operator]
    return joint.join(f"{name} is a {'knight' if sign else 'knave'}" for name, sign in zip(names, signs))


def _natural(spec: Spec) -> str:
    count = len(spec["statements"])
    names = ", ".join(_NAMES[:count].upper())
    lines = "\n".join(f"- {_NAMES[i].upper()} says: {_said(text)}." for i, text in enumerate(spec["statements"]))
    return (
        f"On an island live knights, whose statements are all true, and knaves, whose statements are all false. You "
        f"meet {names}. ('or' means at least one of the two.)\n\n{lines}\n\nFind out who is what; there is exactly one "
        f"possibility. Give the kinds of {names} in this order as {count} letters, K for a knight and N for a knave, "
        f"in \\boxed{{...}}, for example \\boxed{{{'KN' * 4:.{count}}}}."
    )


def _solve(spec: Spec) -> Solution:
    answer, trace = search(len(spec["statements"]), _tables(spec), _NAMES, _KINDS)
    steps = (
        "Trying kinds and what follows from them (! is a contradiction, which takes back the last choice): "
        + " ".join(trace)
    )
    return Solution(answer, "".join(trace), steps)


def _check(spec: Spec, text: str) -> Verdict:
    count = len(spec["statements"])
    answer = read(text, count, _KINDS)
    if answer is None:
        return Verdict.fail("format", f"expected {count} letters, each K or N")
    row = int(answer.replace("N", "0").replace("K", "1"), 2)
    for speaker, consistent in enumerate(_tables(spec)):
        if not consistent >> row & 1:
            return Verdict.fail("wrong", f"contradicts the statement of {_NAMES[speaker]}", answer)
    return Verdict.ok(answer)


KNIGHTS = Task(
    name="knights",
    domain="logic",
    summary="Who is a knight and who a knave, from one statement each; the level is the number of inhabitants.",
    generator=Generator(levels=range(5, 9), instance=_instance, canonical=_canonical),
    wordings=Wordings(compact=_compact, natural=_natural, solve=_solve),
    checker=Checker(check=_check),
    abilities=(OwnBase("islands with five inhabitants", levels=(5,), num_steps=1000, context=256),),
)
