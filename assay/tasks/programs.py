"""Write a Python function for a row of operations on a list of integers. Many programs are right; tests decide.

The program runs in the sandbox. The value that it must return is computed here, by functions of the operations and
never by a program, and stays here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.rng import Key
from assay.sandbox import Limits, opened
from assay.tasks.abilities import OwnBase
from assay.tasks.task import Checker, Generator, Solution, Spec, Task, Wordings
from assay.types import Problem, Verdict
from assay.verifiers.answers import find_answer
from assay.verifiers.programs import Call, Calls, program_in, verify

TESTS = 12  # lists of a problem: an empty one, a short one, and longer ones
LONGEST = 7  # members of such a list
FURTHER, FURTHER_LONGEST = 96, 12  # lists that are drawn when a program is verified, and their most members
MEMBERS = range(-9, 20)
LIMITS = Limits(seconds=0.5, memory_mb=256, output_kb=64)
_MAX_CHARACTERS = 400


@dataclass(frozen=True)
class Operation:
    """One step: `Operation("double", "doubles every member", "[v*2 for v in {x}]", lambda x, k: ...)`."""

    code: str  # in compact wording; a number follows where `numbers` has any
    words: str  # in natural wording; {k} is the number
    expression: str  # in Python; {x} is the list and {k} the number
    does: Callable[[list[int], int], Any]
    numbers: range = range(0)


_TO_LISTS = (
    Operation("double", "double every member", "[v*2 for v in {x}]", lambda x, k: [v + v for v in x]),
    Operation("square", "square every member", "[v*v for v in {x}]", lambda x, k: [v**2 for v in x]),
    Operation("negate", "negate every member", "[-v for v in {x}]", lambda x, k: [0 - v for v in x]),
    Operation("even", "keep the even members", "[v for v in {x} if v%2==0]", lambda x, k: [v for v in x if not v & 1]),
    Operation("odd", "keep the odd members", "[v for v in {x} if v%2]", lambda x, k: [v for v in x if v & 1]),
    Operation("sort", "sort it, smallest first", "sorted({x})", lambda x, k: sorted(x)),
    Operation("reverse", "reverse it", "{x}[::-1]", lambda x, k: list(reversed(x))),
    Operation("add ", "add {k} to every member", "[v+{k} for v in {x}]", lambda x, k: [v + k for v in x], range(1, 10)),
    Operation("over ", "keep members above {k}", "[v for v in {x} if v>{k}]", lambda x, k: [v for v in x if v > k],
              range(10)),
    Operation("under ", "keep members below {k}", "[v for v in {x} if v<{k}]", lambda x, k: [v for v in x if v < k],
              range(1, 10)),
    Operation("first ", "keep the first {k} members", "{x}[:{k}]", lambda x, k: x[:k], range(1, 6)),
    Operation("drop ", "drop the first {k} members", "{x}[{k}:]", lambda x, k: x[k:], range(1, 6)),
)  # fmt: skip
_TO_NUMBERS = (
    Operation("sum", "take the sum", "sum({x})", lambda x, k: int(np.sum(x, dtype=np.int64)) if x else 0),
    Operation("count", "count the members", "len({x})", lambda x, k: sum(1 for _ in x)),
    Operation("max", "take the largest member, or 0 if there is none", "max({x},default=0)",
              lambda x, k: sorted(x)[-1] if x else 0),
    Operation("min", "take the smallest member, or 0 if there is none", "min({x},default=0)",
              lambda x, k: sorted(x)[0] if x else 0),
)  # fmt: skip
_BY_CODE = {one.code: one for one in (*_TO_LISTS, *_TO_NUMBERS)}


def _steps(spec: Spec) -> list[tuple[Operation, int]]:
    return [(_BY_CODE[code], number) for code, number in spec["steps"]]


def value_of(spec: Spec, given: Sequence[int]) -> list[int] | int:
    """The value that the operations make of a list."""
    found: Any = list(given)
    for operation, number in _steps(spec):
        found = operation.does(found, number)
    return found


def further_lists(spec: Spec, name: str) -> list[list[int]]:
    """Lists that do not stand in the problem; another name gives others.

    A problem's own lists let 1.6 % of the programs pass that differ from the right one in one operation; with these
    lists 0.04 % pass. A call costs little beside the start of a program.
    """
    generator = Key(0, name, str(spec["steps"])).generator()
    return _filled(generator, [int(size) for size in generator.integers(1, FURTHER_LONGEST + 1, size=FURTHER)])


def _lists(generator: np.random.Generator) -> list[list[int]]:
    return _filled(generator, [0, 1, *(int(size) for size in generator.integers(2, LONGEST + 1, size=TESTS - 2))])


def _filled(generator: np.random.Generator, sizes: Sequence[int]) -> list[list[int]]:
    return [[int(v) for v in generator.integers(MEMBERS.start, MEMBERS.stop, size=size)] for size in sizes]


def _instance(generator: np.random.Generator, level: int) -> Spec:
    """Random operations in which every one changes something: no list of tests comes out as it would without it."""
    while True:
        kinds = [_TO_LISTS] * (level - 1) + [_TO_LISTS + _TO_NUMBERS if generator.integers(2) else _TO_NUMBERS]
        steps = []
        for kind in kinds:
            operation = kind[int(generator.integers(len(kind)))]
            numbers = operation.numbers
            steps.append([operation.code, int(generator.integers(numbers.start, numbers.stop)) if numbers else 0])
        spec = {"steps": steps, "lists": _lists(Key(0, "lists", str(steps)).generator())}  # one problem has one set
        if _needed(spec):
            return spec


def _needed(spec: Spec) -> bool:
    whole = [value_of(spec, one) for one in spec["lists"]]
    for place in range(len(spec["steps"])):
        shorter = {"steps": [*spec["steps"][:place], *spec["steps"][place + 1 :]]}
        try:
            if [value_of(shorter, one) for one in spec["lists"]] == whole:
                return False
        except TypeError:  # the last operation gave the number that the next one takes
            continue
    return len({str(value) for value in whole}) > TESTS // 3


def _pieces(spec: Spec) -> list[str]:
    return [operation.code + (str(number) if operation.numbers else "") for operation, number in _steps(spec)]


def _natural(spec: Spec) -> str:
    words = "; then ".join(operation.words.format(k=number) for operation, number in _steps(spec))
    return (
        f"Write a Python function f(x) that takes a list x of integers and does the following: {words}. It returns the "
        "result, a list or an integer, and has to work for every list, also an empty one. Only the standard library "
        "may be imported. Give the function in a block of code that begins with ```python, or give its value alone as "
        "one Python expression in x in \\boxed{...}."
    )


def _solve(spec: Spec) -> Solution:
    text = "x"
    for operation, number in _steps(spec):
        text = operation.expression.format(x=text, k=number)
    return Solution(text)


def calls_of(spec: Spec, name: str = "further lists") -> Calls:
    """The calls that a program must answer; expected values are made here and stay outside the sandbox."""
    given = [*spec["lists"], *further_lists(spec, name)]
    return Calls(tuple(Call("f", (list(one),), value_of(spec, one)) for one in given), "equal", LIMITS, LIMITS.seconds)


def source_of(expression: str) -> str:
    """The program whose function has the value of an expression in x."""
    return f"f = lambda x: (\n{expression}\n)\n"


def _read(problem: Problem, text: str) -> tuple[str, str] | Verdict:
    """(the program of a response, its answer in canonical form), or the verdict on a response that has none."""
    block = program_in(text) if problem.wording == "natural" else None
    if block is not None and "\\boxed{" not in text.rpartition("```")[2]:
        return block, block
    answer = find_answer(text, problem.wording)
    if answer is None:
        return Verdict.fail("format", "no block of code, and no marked answer")
    return _expressed(answer)


def _expressed(answer: str) -> tuple[str, str] | Verdict:
    answer = answer.strip()
    if not answer:
        return Verdict.fail("empty")
    if len(answer) > _MAX_CHARACTERS:
        return Verdict.fail("format", f"an expression has at most {_MAX_CHARACTERS} characters")
    return source_of(answer), answer


def _verified(
    items: Sequence[tuple[Spec, tuple[str, str] | Verdict]], calls: Callable[[Spec], Calls] = calls_of
) -> list[Verdict]:
    """Verdicts on programs that were read; all of them run beside each other."""
    asked = [(spec, read) for spec, read in items if not isinstance(read, Verdict)]
    specs = {str(spec): spec for spec, _ in asked}
    tests = {text: calls(spec) for text, spec in specs.items()}  # once for all answers to a problem
    verified = iter(verify([(program, tests[str(spec)]) for spec, (program, _) in asked], opened()) if asked else ())
    verdicts = []
    for _, read in items:
        if isinstance(read, Verdict):
            verdicts.append(read)
            continue
        verdict = next(verified)
        verdicts.append(Verdict.ok(read[1]) if verdict.status == "ok" else verdict)
    return verdicts


def _check(spec: Spec, text: str) -> Verdict:
    return _verified([(spec, _expressed(text))])[0]


def _verify_all(pairs: Sequence[tuple[Problem, str]]) -> list[Verdict]:
    return _verified([(problem.spec, _read(problem, text)) for problem, text in pairs])


def _verify_afresh(pairs: Sequence[tuple[Problem, str]]) -> list[Verdict]:
    """The second oracle: the same programs on lists of its own."""

    def fresh(spec: Spec) -> Calls:
        return calls_of(spec, "second oracle")

    return _verified([(problem.spec, _read(problem, text)) for problem, text in pairs], fresh)


PROGRAMS = Task(
    name="programs",
    domain="programs",
    summary=f"Write a Python function of a list, verified by {TESTS + FURTHER} hidden calls; the level is how many "
    "operations it makes.",
    generator=Generator(
        levels=range(1, 6),
        first=2,  # the first has a handful of problems
        instance=_instance,
        canonical=lambda spec: ",".join(_pieces(spec)),
    ),
    wordings=Wordings(compact=lambda spec: f"Y {','.join(_pieces(spec))}", natural=_natural, solve=_solve),
    checker=Checker(
        check=_check, verify_many=_verify_all, second=_verify_afresh, externals=("sandbox",), seconds=LIMITS.seconds
    ),
    abilities=(
        OwnBase(
            "Python functions of two and three operations on lists",
            levels=(2, 3),
            num_steps=70,
            context=128,
            hidden=160,
        ),
    ),
)
