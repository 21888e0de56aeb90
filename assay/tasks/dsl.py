"""Programs of a stack machine on digits: find the output (deduction), an input (abduction), or the program (induction).

A program is a row of instructions of one character each. Its stack begins with three digits. There are no loops, so the
machine makes one step for each instruction. A program in which an instruction lacks an operand has no result.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from assay.tasks.abilities import OwnBase
from assay.tasks.pose import Posing
from assay.tasks.task import Checker, Generator, Solution, Spec, Task, Wordings
from assay.types import Verdict

INPUT = 3  # digits on the stack at the beginning
LONGEST = 8  # instructions of a program
PAIRS, SHOWN = 6, 3  # the pairs of input and output of an induction problem, and how many of them the question shows
MESSAGE = 16  # characters of the message about the program in an induction problem
_MAX_CHARACTERS = 64

INSTRUCTIONS: dict[str, tuple[str, int, Callable[..., tuple[int, ...]]]] = {
    "+": ("replaces the top two by the last digit of their sum", 2, lambda a, b: ((a + b) % 10,)),
    "-": ("replaces a, b on top by the last digit of a - b + 10", 2, lambda a, b: ((a - b) % 10,)),
    "*": ("replaces the top two by the last digit of their product", 2, lambda a, b: (a * b % 10,)),
    "m": ("replaces the top two by the larger one", 2, lambda a, b: (max(a, b),)),
    "d": ("doubles the top as two digits", 1, lambda a: (a, a)),
    "p": ("removes the top", 1, lambda a: ()),
    "i": ("replaces the top a by the last digit of a + 1", 1, lambda a: ((a + 1) % 10,)),
    "n": ("replaces the top a by 9 - a", 1, lambda a: (9 - a,)),
    "s": ("exchanges the top two", 2, lambda a, b: (b, a)),
    "r": ("moves the third from the top to the top", 3, lambda a, b, c: (b, c, a)),
}
_PROGRAM = re.compile(f"[{re.escape(''.join(INSTRUCTIONS))}]{{1,{LONGEST}}}")
_INPUT = re.compile(f"[0-9]{{{INPUT}}}")
_DIGITS = re.compile(f"[0-9]{{1,{INPUT + LONGEST}}}")
_MESSAGE = re.compile(f"[A-Za-z0-9 ,.+*-]{{1,{MESSAGE}}}")


def trace(program: str, digits: str) -> list[str] | None:
    """The stack after each instruction, its top last; None if an operand is missing or the stack ends empty."""
    stack, stacks = [int(digit) for digit in digits], []
    for name in program:
        _, count, apply = INSTRUCTIONS[name]
        if len(stack) < count:
            return None
        stack[len(stack) - count :] = apply(*stack[len(stack) - count :])
        stacks.append("".join(map(str, stack)))
    return stacks if stack else None


def output(program: str, digits: str) -> str | None:
    """The stack at the end of a program, its top last; None if the program has no result."""
    stacks = trace(program, digits)
    return None if stacks is None else (stacks[-1] if stacks else digits)


def _run(generator: np.random.Generator, level: int) -> tuple[str, str, str]:
    """(a program, its input, its output). The output has at least two digits and differs from the input."""
    names = list(INSTRUCTIONS)
    while True:
        program = "".join(names[i] for i in generator.integers(len(names), size=level))
        digits = _input(generator)
        found = output(program, digits)
        if found is not None and len(found) > 1 and found != digits:
            return program, digits, found


def _input(generator: np.random.Generator) -> str:
    return "".join(map(str, generator.integers(10, size=INPUT)))


def _single(generator: np.random.Generator, level: int) -> Spec:
    program, digits, found = _run(generator, level)
    return {"program": program, "input": digits, "output": found}


def _several(generator: np.random.Generator, level: int) -> Spec:
    """A random induction problem. Every second one has a message."""
    while True:
        program, *_ = _run(generator, level)
        spec = paired(program, [_input(generator) for _ in range(PAIRS)])
        if spec is not None and sum(a != b for a, b in spec["pairs"]) >= PAIRS - 1:
            return {**spec, "message": message(generator, program)} if generator.integers(2) else spec


def message(generator: np.random.Generator, program: str) -> str:
    """A hint at the program that does not give it away: its length, and one of its instructions."""
    return f"{len(program)} with {program[int(generator.integers(len(program)))]}"


def paired(program: str, inputs: Sequence[str], message: str = "") -> Spec | None:
    """An induction problem on these inputs; None if they are too few different
    ones, or if one of them has no output.
    """
    outputs = [output(program, digits) for digits in inputs]
    if len(set(inputs)) < PAIRS or None in outputs:
        return None
    return {"program": program, "pairs": [list(pair) for pair in zip(inputs, outputs)], "message": message}


# The three questions


def _language() -> str:
    lines = "\n".join(f"{name} {words}" for name, (words, _, _) in INSTRUCTIONS.items())
    return (
        f"A machine works on a stack of digits, written with its top last. It starts with {INPUT} digits and carries "
        f"out instructions from left to right:\n{lines}\nAn instruction that lacks an operand is an error.\n\n"
    )


def _deduced(spec: Spec, text: str) -> Verdict:
    answer = text.strip() if len(text) <= _MAX_CHARACTERS else ""
    if _DIGITS.fullmatch(answer) is None:
        return Verdict.fail("format", "expected the digits on the stack")
    return Verdict.ok(answer) if answer == spec["output"] else Verdict.fail("wrong", answer=answer)


def _abduced(spec: Spec, text: str) -> Verdict:
    answer = text.strip() if len(text) <= _MAX_CHARACTERS else ""
    if _INPUT.fullmatch(answer) is None:
        return Verdict.fail("format", f"expected {INPUT} digits")
    right = output(spec["program"], answer) == spec["output"]
    return Verdict.ok(answer) if right else Verdict.fail("wrong", answer=answer)


def _induced(spec: Spec, text: str) -> Verdict:
    """An answer is right if its program gives all outputs, also the outputs that the question does not show."""
    answer = text.strip() if len(text) <= _MAX_CHARACTERS else ""
    if _PROGRAM.fullmatch(answer) is None:
        return Verdict.fail("format", f"expected 1 to {LONGEST} instructions")
    right = all(output(answer, before) == after for before, after in spec["pairs"])
    return Verdict.ok(answer) if right else Verdict.fail("wrong", answer=answer)


def _stacks(spec: Spec) -> list[str]:
    return trace(spec["program"], spec["input"]) or []


def _shown(spec: Spec) -> str:
    return " ".join(f"{before}>{after}" for before, after in spec["pairs"][:SHOWN])


# Posing them


def _read_single(text: str, shown: Sequence[Spec]) -> Spec | None:
    """The instance that `PROGRAM INPUT` poses."""
    program, _, digits = text.strip().partition(" ")
    if _PROGRAM.fullmatch(program) is None or _INPUT.fullmatch(digits) is None:
        return None
    found = output(program, digits)
    return None if found is None else {"program": program, "input": digits, "output": found}


def _read_several(text: str, shown: Sequence[Spec]) -> Spec | None:
    """The instance that `INPUTS;MESSAGE` poses for the program that was shown.

    None if the message is too long, or if it contains the program. Programs of one
    instruction are allowed in a message, because almost any text contains them.
    """
    before, _, hint = text.strip().partition(";")
    inputs, hint, program = before.split(" "), hint.strip(), shown[0]["program"]
    if len(inputs) != PAIRS or any(_INPUT.fullmatch(digits) is None for digits in inputs):
        return None
    if _MESSAGE.fullmatch(hint) is None or (len(program) > 1 and program in hint):
        return None
    return paired(program, inputs, hint)


def _write_several(spec: Spec) -> str:
    return " ".join(before for before, _ in spec["pairs"]) + ";" + spec["message"]


def _single_posing(tag: str) -> Posing:
    return Posing(
        seed={"program": "s", "input": "012", "output": "021"},
        shown=3,
        compact=lambda shown: f"{tag} " + ",".join(f"{spec['program']} {spec['input']}" for spec in shown),
        natural=lambda shown: (
            _language()
            + "Here are programs with inputs:\n"
            + "\n".join(f"{spec['program']} {spec['input']}" for spec in shown)
            + "\n\nWrite another program with an input, unlike these and not easy to follow, as \\boxed{PROGRAM INPUT}."
        ),
        write=lambda spec: f"{spec['program']} {spec['input']}",
        read=_read_single,
        level=lambda spec: len(spec["program"]),
        example=lambda generator, level, shown: _single(generator, level),
    )


def _inputs_for(generator: np.random.Generator, level: int, shown: Sequence[Spec]) -> Spec:
    while True:
        program, inputs = shown[0]["program"], [_input(generator) for _ in range(PAIRS)]
        if spec := paired(program, inputs, message(generator, program)):
            return spec


DEDUCTION = Task(
    name="dsl-deduction",
    domain="programs",
    summary="What a program of a stack machine puts out; the level is the number of instructions.",
    generator=Generator(
        levels=range(1, 7), first=2, instance=_single, canonical=lambda spec: f"{spec['program']} {spec['input']}"
    ),
    wordings=Wordings(
        compact=lambda spec: f"P {spec['program']} {spec['input']}",
        natural=lambda spec: (
            f"{_language()}Which digits does {spec['program']} leave on the stack, started with "
            f"{spec['input']}? Give them in \\boxed{{...}}, the top last."
        ),
        solve=lambda spec: Solution(spec["output"], ",".join(_stacks(spec))),
    ),
    checker=Checker(check=_deduced),
    abilities=(
        _single_posing("p"),
        OwnBase("what programs of two instructions put out", levels=(2,), num_steps=200),
    ),
)
ABDUCTION = Task(
    name="dsl-abduction",
    domain="programs",
    summary="What a program of a stack machine may have been started with; the level is the number of instructions.",
    generator=Generator(
        levels=range(1, 7), first=2, instance=_single, canonical=lambda spec: f"{spec['program']}>{spec['output']}"
    ),
    wordings=Wordings(
        compact=lambda spec: f"Q {spec['program']}>{spec['output']}",
        natural=lambda spec: (
            f"{_language()}With which {INPUT} digits must {spec['program']} be started to leave "
            f"{spec['output']} on the stack? Give one possibility in \\boxed{{...}}, the top last."
        ),
        solve=lambda spec: Solution(spec["input"], ",".join([*reversed(_stacks(spec)[:-1]), spec["input"]])),
    ),
    checker=Checker(check=_abduced),
    abilities=(
        _single_posing("q"),
        OwnBase("inputs of programs of two instructions", levels=(2,), num_steps=180),
    ),
)
INDUCTION = Task(
    name="dsl-induction",
    domain="programs",
    summary=f"A program of a stack machine from {SHOWN} examples and, every second time, a message, verified on more "
    "examples; the level is its instructions.",
    generator=Generator(
        levels=range(2, 7),
        instance=_several,
        canonical=lambda spec: " ".join(sorted(f"{before}>{after}" for before, after in spec["pairs"])),
    ),
    wordings=Wordings(
        compact=lambda spec: f"R {_shown(spec)} {spec['message']}".rstrip(),
        natural=lambda spec: (
            f"{_language()}A program takes these digits to those:\n{_shown(spec)}\n"
            + (f"Somebody who knows it says: {spec['message']}\n" if spec["message"] else "")
            + f"\nGive a program of at most {LONGEST} instructions that does the same, also with other digits, in "
            "\\boxed{...}."
        ),
        solve=lambda spec: Solution(spec["program"]),
    ),
    checker=Checker(check=_induced),
    abilities=(
        Posing(
            seed=paired("s", ["012", "345", "678", "901", "234", "567"], "exchange two") or {},
            shown=1,
            compact=lambda shown: f"r {shown[0]['program']}",
            natural=lambda shown: (
                f"{_language()}Write {PAIRS} different inputs from which the program {shown[0]['program']} can be "
                f"guessed, but not easily, and a message of at most {MESSAGE} characters that helps and does not hold "
                "the program, as \\boxed{INPUT INPUT ...;MESSAGE}."
            ),
            write=_write_several,
            read=_read_several,
            level=lambda spec: len(spec["program"]),
            example=_inputs_for,
            sources=("dsl-deduction", "dsl-abduction", "dsl-induction"),
        ),
        OwnBase("programs of two instructions from examples", levels=(2,), num_steps=200),
    ),
)
