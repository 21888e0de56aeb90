"""The quantities of `quantities` worked out by a program: each step is a line of Python, which must run.

A step runs behind the steps before it, in the sandbox. It is wrong if it fails: for example, if it uses a quantity that
no step before it has given. The answer names two variables, and is right if the program holds the two numbers under
these names. So whoever answers finds an order of the steps, and Python does the arithmetic (rStar-Math, 2501.04519).
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any

from assay.tasks.abilities import OwnBase
from assay.tasks.python_steps import AGAIN, ALONE, LONGEST, MOST, TOGETHER, ProgramRan, outcomes
from assay.tasks.python_sums import Unread, held
from assay.tasks.quantities import (
    PRIME,
    QUANTITIES,
    facts_of,
    needed_of,
    noun_of,
    rule_of,
    sentence_of,
    values_of,
)
from assay.tasks.steps import Ending, Read, StepVerdict, parts
from assay.tasks.strategies import Strategies
from assay.tasks.task import Checker, Solution, Spec, Task, Wordings
from assay.types import Problem, Verdict

_LETTERS = re.compile(r"([a-z])[ ,]*([a-z])")
_NAMES = re.compile(r"([A-Za-z_][A-Za-z0-9_]{0,39}) *, *([A-Za-z_][A-Za-z0-9_]{0,39})", re.ASCII)
_MOST_CHARACTERS = 100  # of an answer
_NO_NAMES = Verdict.fail("format", "expected the names of two variables")

Response = tuple[Spec, Sequence[str], str | None]  # its problem, its steps and its answer


def _compact(spec: Spec) -> str:
    """Facts are written as the steps are, so that a small model has to find an order of them, and no other words."""
    return f"run {' '.join(_code(*fact.split('=')) for fact in spec['facts'])}?{spec['asked']}"


def _natural(spec: Spec) -> str:
    first, second = map(noun_of, spec["asked"])
    return (
        f"All numbers are counted modulo {PRIME}: only the remainder from 0 to {PRIME - 1} is kept. "
        f"{' '.join(sentence_of(name, fact) for name, fact in facts_of(spec).items())} "
        f"How many {first} and how many {second} are there? Write a program in Python that works them out, one step on "
        "each line, with words behind it, in the form `bells = (apples + 3) % 7  # three more than there are apples`. "
        "Each line is run behind the lines before it, and must not fail. Give the names of the two variables that "
        "hold the numbers, in the order of the question, in \\boxed{...}, for example \\boxed{apples, bells}."
    )


def _written(spec: Spec, strategy: str) -> Solution:
    told = facts_of(spec)
    order = needed_of(told, spec["asked"]) if strategy == "needed" else _as_they_come(told)
    compact = ",".join(_code(name, told[name]) for name in order)
    natural = "\n".join(_line(name, told[name]) for name in order)
    return Solution(spec["asked"], compact, natural, ", ".join(map(noun_of, spec["asked"])))


def _as_they_come(told: Mapping[str, str]) -> list[str]:
    """All quantities, each at the first time at which it can be worked out when the facts are read again and again."""
    order: dict[str, None] = {}
    while len(order) < len(told):
        for name, fact in told.items():
            if name not in order and all(letter in order for letter in fact if letter.isalpha()):
                order[name] = None
    return list(order)


def _code(name: str, fact: str) -> str:
    return f"{name}={fact}" if fact.isdigit() else f"{name}=({fact})%{PRIME}"


def _line(name: str, fact: str) -> str:
    """The same in natural wording."""
    if fact.isdigit():
        code = fact
    else:
        left, operator, right = rule_of(fact)
        code = f"({noun_of(left)} {operator} {right if right.isdigit() else noun_of(right)}) % {PRIME}"
    return f"{noun_of(name)} = {code}  # {sentence_of(name, fact)}"


WAYS = Strategies("quantities-python", {"needed": 0.4, "all": 0.6}, QUANTITIES.generator.canonical, _written)
"""Worked solutions and their shares: a step for each quantity that the question needs; for each that is told."""


def _names(answer: str | None) -> tuple[str, str] | None:
    """The two variables that an answer names."""
    if answer is None or len(answer) > _MOST_CHARACTERS:
        return None
    match = _LETTERS.fullmatch(answer.strip()) or _NAMES.fullmatch(answer.strip())
    return None if match is None else (match[1], match[2])


def _run(asked: Sequence[Response]) -> list[ProgramRan | None]:
    """What became of the programs of these responses, with the values of the names in their answers."""
    return outcomes([(steps, _names(answer) or ()) for _, steps, answer in asked])


def _verdicts(asked: Sequence[Response]) -> list[Verdict]:
    return [_verdict(one, ran) for one, ran in zip(asked, _run(asked), strict=True)]


def _verdict(response: Response, ran: ProgramRan | None) -> Verdict:
    spec, _, answer = response
    if answer is None:
        return Verdict.fail("format", "no marked answer")
    if _names(answer) is None:
        return _NO_NAMES
    if ran is None:
        return Verdict.invalid("worker_lost", "the sandbox was lost")
    return _compared(spec, ran.values, values_of(facts_of(spec)))


def _compared(spec: Spec, values: Sequence[int | None], right: Mapping[str, int]) -> Verdict:
    """The verdict on what a program holds. The canonical answer is the shortest program that holds the same."""
    if None in values:
        return Verdict.fail("wrong", "the program holds no whole number under a name of the answer")
    program = ",".join(f"{name}={value}" for name, value in zip(spec["asked"], values, strict=True))
    found = f"{program}#{spec['asked']}"
    if list(values) == [right[name] for name in spec["asked"]]:
        return Verdict.ok(found)
    return Verdict.fail("wrong", answer=found)


def _check(spec: Spec, text: str) -> Verdict:
    """The verdict on a response in compact wording. Names alone, without a program that holds them, are wrong."""
    _, steps, answer = parts(text, "compact")
    return _verdicts([(spec, steps, answer)])[0]


def _verify_many(pairs: Sequence[tuple[Problem, str]]) -> list[Verdict]:
    return _verdicts([(problem.spec, *parts(text, problem.wording)[1:]) for problem, text in pairs])


def _second(pairs: Sequence[tuple[Problem, str]]) -> list[Verdict]:
    """Reads the steps instead of running them, and finds the right numbers by reading the facts again and again."""
    verdicts = []
    for problem, text in pairs:
        _, steps, answer = parts(text, problem.wording)
        names = _names(answer)
        if names is None:
            verdicts.append(_NO_NAMES)
            continue
        told = facts_of(problem.spec)
        try:
            values = held([step for step in steps[:MOST] if len(step) <= LONGEST])
            right = held([_code(name, told[name]) for name in _as_they_come(told)])
        except Unread as error:
            verdicts.append(Verdict.invalid("unread", f"a step that is more than a sum: {error}"))
            continue
        verdicts.append(_compared(problem.spec, [values.get(name) for name in names], right))
    return verdicts


def _read_many(asked: Sequence[tuple[Mapping[str, Any], Sequence[str], str | None]]) -> list[Read | None]:
    """A step that fails is wrong. One that runs is valid if the answer needs it, as far as names say: the names that it
    binds are read by a valid step behind it, or are those of the answer or, before there is one, of the question.
    """
    return [None if ran is None else _read(one, ran) for one, ran in zip(asked, _run(asked), strict=True)]


def _read(response: Response, ran: ProgramRan) -> Read:
    spec, _, answer = response
    names = _names(answer)
    wanted = set(names or (*spec["asked"], *map(noun_of, spec["asked"])))
    verdicts: list[StepVerdict] = []
    for step in reversed(ran.steps):
        needed = step.ran and not wanted.isdisjoint(step.binds)
        verdicts.append("wrong" if not step.ran else "valid" if needed else "useless")
        if needed:
            wanted = (wanted - set(step.binds) if step.plain else wanted) | set(step.reads)
    ending: Ending = "none" if names is None else "shortcut" if None in ran.values else "faithful"
    return verdicts[::-1], ending


QUANTITIES_PYTHON = Task(
    name="quantities-python",
    domain="programs",
    summary=(
        "Quantities told in terms of one another, worked out by a program whose every step is run; the level is the "
        "number of operations needed."
    ),
    generator=dataclasses.replace(QUANTITIES.generator, levels=range(1, 13), first=None),
    wordings=Wordings(compact=_compact, natural=_natural, solve=WAYS.solve, others=WAYS.others),
    checker=Checker(
        check=_check,
        verify_many=_verify_many,
        second=_second,
        externals=("sandbox",),
        seconds=TOGETHER.seconds + AGAIN * ALONE.seconds,
        steps_many=_read_many,
    ),
    abilities=(
        OwnBase(
            "programs for quantities that one operation gives, or two",
            levels=(1, 2, 2),
            num_steps=700,
            context=384,
            learning_rate=2e-3,
        ),
    ),
)
