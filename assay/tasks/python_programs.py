"""Programs in Python: find the value (deduction), a list that has it (abduction), or the program (induction).

A program is an expression in `x`, a list of integers. Those that the task draws are rows of operations, whose values
are computed here without running them. Those that a policy poses run in the sandbox, twice, and so do answers to
abduction and induction (AZR, 2505.03335).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence

import numpy as np

from assay.tasks.abilities import OwnBase
from assay.tasks.expressions import LIMITS, is_plain, list_in, value_in, values, written
from assay.tasks.pose import Posing
from assay.tasks.programs import PROGRAMS, value_of
from assay.tasks.task import Checker, Generator, Solution, Spec, Task, Wordings
from assay.types import Problem, Verdict
from assay.verifiers.answers import find_answer

PAIRS, SHOWN = 6, 3  # the pairs of an induction problem, and how many of them the question shows
MESSAGE = 24  # characters of the message about a program
LEVELS = range(1, 4)
_MESSAGE = re.compile(rf"[A-Za-z0-9 ,.+*-]{{1,{MESSAGE}}}")
_OPERATION = re.compile(r"[a-z]+\(|\bfor\b|\[[^\[\],]*:")
_LANGUAGE = (
    "A program is one Python expression in x, a list of integers; its value is an integer or a list of integers, for "
    "example sorted(x)[:2].\n\n"
)


def level_of(program: str) -> int:
    """How many operations a program makes: calls, comprehensions and slices."""
    return min(max(LEVELS), max(1, len(_OPERATION.findall(program))))


def _drawn(generator: np.random.Generator, level: int) -> tuple[str, list[tuple[str, str]]]:
    """A program, and pairs of lists and values, of which the first has a list that the program changes."""
    while True:
        spec = PROGRAMS.generator.instance(generator, level)
        program = PROGRAMS.wordings.solve(spec).answer
        pairs = [(json.dumps(one, separators=(",", ":")), written(value_of(spec, one))) for one in spec["lists"][1:]]
        told = [(given, value) for given, value in pairs if value is not None and value != given and given != "[]"]
        told = [told[i] for i in generator.permutation(len(told))]
        if len(dict(told)) >= PAIRS and is_plain(program) and level_of(program) == level:
            return program, list(dict(told).items())


def _single(generator: np.random.Generator, level: int) -> Spec:
    program, pairs = _drawn(generator, level)
    return {"program": program, "input": pairs[0][0], "output": pairs[0][1]}


def _several(generator: np.random.Generator, level: int) -> Spec:
    program, pairs = _drawn(generator, level)
    hint = f"{level} operations" if generator.integers(2) else ""
    return {"program": program, "pairs": [list(pair) for pair in pairs[:PAIRS]], "message": hint}


# Posing them


def _read_single(text: str, shown: Sequence[Spec]) -> Spec | None:
    """The instance that `PROGRAM;LIST` poses, with the value that the sandbox finds."""
    program, _, given = text.strip().rpartition(";")
    program, given = program.strip(), list_in(given) or ""
    if not given or not is_plain(program):
        return None
    (found,) = values([(program, [given])])
    return None if found is None else {"program": program, "input": given, "output": found[0]}


def _read_several(text: str, shown: Sequence[Spec]) -> Spec | None:
    """The instance that `LIST LIST ...;MESSAGE` poses for the program that was shown."""
    before, _, hint = text.strip().partition(";")
    program, hint = shown[0]["program"], hint.strip()
    inputs = [list_in(one) for one in before.split()]
    told = [one for one in inputs if one is not None]
    if len(inputs) != PAIRS or len(set(told)) != PAIRS or _MESSAGE.fullmatch(hint) is None:
        return None
    if len(program) > 1 and program in hint:
        return None
    (found,) = values([(program, told)])
    if found is None:
        return None
    return {"program": program, "pairs": [list(pair) for pair in zip(told, found, strict=True)], "message": hint}


def _lists_for(generator: np.random.Generator, level: int, shown: Sequence[Spec]) -> Spec:
    program = shown[0]["program"]
    while True:
        lists = [written(generator.integers(-9, 20, size=n).tolist()) or "[]" for n in generator.integers(1, 6, PAIRS)]
        if (spec := _read_several(f"{' '.join(lists)};{level} operations", [{"program": program}])) is not None:
            return spec


def _posed(tag: str) -> Posing:
    def write(spec: Spec) -> str:
        return f"{spec['program']};{spec['input']}"

    return Posing(
        seed={"program": "x", "input": "[1,2]", "output": "[1,2]"},
        shown=3,
        compact=lambda shown: f"{tag} " + " | ".join(map(write, shown)),
        natural=lambda shown: (
            f"{_LANGUAGE}Here are programs with lists:\n"
            + "\n".join(map(write, shown))
            + "\n\nWrite another program with a list, unlike these and not easy to follow, as \\boxed{PROGRAM;LIST}."
        ),
        write=write,
        read=_read_single,
        level=lambda spec: level_of(spec["program"]),
        example=lambda generator, level, shown: _single(generator, level),
    )


# Verifying answers


def _deduced(spec: Spec, text: str) -> Verdict:
    found = value_in(text)
    if found is None:
        return Verdict.fail("format", "expected an integer or a list of integers")
    return Verdict.ok(found) if found == spec["output"] else Verdict.fail("wrong", answer=found)


def _abduced(asked: Sequence[tuple[Spec, str]]) -> list[Verdict]:
    """An answer is right if the program makes of it the value that is asked for."""
    lists = [list_in(text) for _, text in asked]
    found = values([(spec["program"], [given]) for (spec, _), given in zip(asked, lists) if given is not None])
    ran = iter(found)
    verdicts = []
    for (spec, _), given in zip(asked, lists, strict=True):
        if given is None:
            verdicts.append(Verdict.fail("format", "expected a list of integers"))
            continue
        right = next(ran) == (spec["output"],)
        verdicts.append(Verdict.ok(given) if right else Verdict.fail("wrong", answer=given))
    return verdicts


def _induced(asked: Sequence[tuple[Spec, str]]) -> list[Verdict]:
    """An answer is right if its program gives all values, also those that the question does not show."""
    texts = [text.strip() for _, text in asked]
    found = values([(text, [a for a, _ in spec["pairs"]]) for (spec, _), text in zip(asked, texts, strict=True)])
    verdicts = []
    for (spec, _), text, ran in zip(asked, texts, found, strict=True):
        if not is_plain(text):
            verdicts.append(Verdict.fail("format", "expected an expression in x"))
            continue
        right = ran == tuple(b for _, b in spec["pairs"])
        verdicts.append(Verdict.ok(text) if right else Verdict.fail("wrong", answer=text))
    return verdicts


def _running(verified: Callable[[Sequence[tuple[Spec, str]]], list[Verdict]]) -> Checker:
    """The checker of answers that run: all of them beside each other."""

    def verify_many(pairs: Sequence[tuple[Problem, str]]) -> list[Verdict]:
        answers = [find_answer(text, problem.wording) for problem, text in pairs]
        marked = [(problem.spec, answer) for (problem, _), answer in zip(pairs, answers, strict=True) if answer]
        ran = iter(verified(marked) if marked else ())
        return [next(ran) if answer else _unmarked(answer) for answer in answers]

    return Checker(
        check=lambda spec, text: verified([(spec, text)])[0],
        verify_many=verify_many,
        externals=("sandbox",),
        seconds=LIMITS.seconds,
    )


def _unmarked(answer: str | None) -> Verdict:
    return Verdict.fail("format", "no marked answer") if answer is None else Verdict.fail("empty")


# The three questions


def _base(summary: str, num_steps: int) -> OwnBase:
    return OwnBase(summary, levels=(1, 1, 2), num_steps=num_steps, context=256)


PYTHON_DEDUCTION = Task(
    name="python-deduction",
    domain="programs",
    summary="What a Python expression makes of a list; the level is the number of operations.",
    generator=Generator(levels=LEVELS, instance=_single, canonical=lambda spec: f"{spec['program']};{spec['input']}"),
    wordings=Wordings(
        compact=lambda spec: f"Py {spec['program']};{spec['input']}",
        natural=lambda spec: (
            f"{_LANGUAGE}What is the value of {spec['program']} for x = {spec['input']}? Give it in \\boxed{{...}}."
        ),
        solve=lambda spec: Solution(spec["output"]),
    ),
    checker=Checker(check=_deduced, externals=("sandbox",)),
    abilities=(_posed("o"), _base("what short programs make of lists", 120)),
)
PYTHON_ABDUCTION = Task(
    name="python-abduction",
    domain="programs",
    summary="A list of which a Python expression makes a value; the level is the number of operations.",
    generator=Generator(levels=LEVELS, instance=_single, canonical=lambda spec: f"{spec['program']}>{spec['output']}"),
    wordings=Wordings(
        compact=lambda spec: f"In {spec['program']}>{spec['output']}",
        natural=lambda spec: (
            f"{_LANGUAGE}For which list x is the value of {spec['program']} equal to {spec['output']}? Give one list "
            "in \\boxed{...}."
        ),
        solve=lambda spec: Solution(spec["input"]),
    ),
    checker=_running(_abduced),
    abilities=(_posed("i"), _base("lists of which short programs make values", 120)),
)
PYTHON_INDUCTION = Task(
    name="python-induction",
    domain="programs",
    summary=f"A Python expression from {SHOWN} examples and, every second time, a message, verified on more examples; "
    "the level is its operations.",
    generator=Generator(
        levels=LEVELS,
        instance=_several,
        canonical=lambda spec: " ".join(sorted(f"{before}>{after}" for before, after in spec["pairs"])),
    ),
    wordings=Wordings(
        compact=lambda spec: f"Fn {_examples(spec)} {spec['message']}".rstrip(),
        natural=lambda spec: (
            f"{_LANGUAGE}A program makes of these lists these values:\n{_examples(spec)}\n"
            + (f"Somebody who knows it says: {spec['message']}\n" if spec["message"] else "")
            + "\nGive a program that does the same, also with other lists, in \\boxed{...}."
        ),
        solve=lambda spec: Solution(spec["program"]),
    ),
    checker=_running(_induced),
    abilities=(
        Posing(
            seed={
                "program": "x",
                "pairs": [[f"[{n}]", f"[{n}]"] for n in range(1, PAIRS + 1)],
                "message": "as it is",
            },
            shown=1,
            compact=lambda shown: f"f {shown[0]['program']}",
            natural=lambda shown: (
                f"{_LANGUAGE}Write {PAIRS} different lists, without spaces in them, from whose values the program "
                f"{shown[0]['program']} can be guessed, but not easily, and a message of at most {MESSAGE} characters "
                "that helps and does not hold the program, as \\boxed{LIST LIST ...;MESSAGE}."
            ),
            write=lambda spec: " ".join(before for before, _ in spec["pairs"]) + ";" + spec["message"],
            read=_read_several,
            level=lambda spec: level_of(spec["program"]),
            example=_lists_for,
            sources=("python-deduction", "python-abduction", "python-induction"),
        ),
        _base("programs from examples", 120),
    ),
)


def _examples(spec: Spec) -> str:
    return " ".join(f"{before}>{after}" for before, after in spec["pairs"][:SHOWN])
