"""Questions about numbers that need computing, with Python to compute in. The interpreter keeps what a program defines.

In compact wording a call is `[sum(map(int,str(37**41)))]`, and its value follows. Large models write a program between
```python and ```. The right answer is computed here by other means than the worked program: by NumPy, or by digits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from assay.tasks.abilities import OwnBase
from assay.tasks.task import Checker, Generator, Solution, Spec, Task, Wordings
from assay.types import Verdict
from assay.worlds.interpreter import interpreter

PRIMES = tuple(n for n in range(101, 1000) if all(n % k for k in range(2, 32)))  # few powers repeat early
_ANSWER = re.compile(r"-?[0-9]{1,12}")


@dataclass(frozen=True)
class NumberQuestion:
    """A kind of question about some numbers: `NumberQuestion("digits {}^{}", words, ("sum(...)",), ranges, value)`."""

    compact: str
    words: str
    programs: tuple[str, ...]  # one after another; the value of the last one is the answer
    numbers: tuple[Sequence[int], ...]  # each is drawn from one
    value: Callable[..., int]


def _digit_sum(base: int, exponent: int) -> int:
    """The sum of the digits of a power, which is multiplied out digit by digit."""
    digits = [1]
    for _ in range(exponent):
        carry = 0
        for place, digit in enumerate(digits):
            carry, digits[place] = divmod(digit * base + carry, 10)
        while carry:
            carry, digit = divmod(carry, 10)
            digits.append(digit)
    return sum(digits)


def _remainder(base: int, exponent: int, modulus: int) -> int:
    value = 1
    for _ in range(exponent):
        value = value * base % modulus
    return value


def _prime_sum(limit: int) -> int:
    """The sum of the primes below a limit, by a sieve."""
    sieve = np.ones(limit, bool)
    sieve[:2] = False
    for number in range(2, int(limit**0.5) + 1):
        sieve[number * number :: number] = False
    return int(np.flatnonzero(sieve).sum())


def _with_digits(limit: int, total: int) -> int:
    numbers = np.arange(limit)
    return int(np.count_nonzero(sum(numbers // 10**place % 10 for place in range(5)) == total))


def _chained(base: int, exponent: int, second: int, modulus: int) -> int:
    return _remainder(second, _digit_sum(base, exponent), modulus)


QUESTIONS = (
    NumberQuestion(
        "{}^{}%{}",
        "What is the remainder of {}^{} divided by {}?",
        ("{}**{}%{}",),
        (range(12, 100), range(12, 100), PRIMES),
        _remainder,
    ),
    NumberQuestion(
        "digits {}^{}",
        "What is the sum of the decimal digits of {}^{}?",
        ("sum(map(int,str({}**{})))",),
        (range(12, 100), range(20, 100)),
        _digit_sum,
    ),
    NumberQuestion(
        "primes <{}",
        "What is the sum of all prime numbers below {}?",
        ("sum(p for p in range(2,{}) if all(p%d for d in range(2,int(p**.5)+1)))",),
        (range(100, 2000),),
        _prime_sum,
    ),
    NumberQuestion(
        "count <{} digits {}",
        "How many of the whole numbers from 0 to below {} have decimal digits whose sum is {}?",
        ("sum(sum(map(int,str(n)))=={1} for n in range({0}))",),
        (range(1000, 9000), range(8, 22)),
        _with_digits,
    ),
    NumberQuestion(
        "s=digits {}^{};{}^s%{}",
        "Let s be the sum of the decimal digits of {}^{}. What is the remainder of {}^s divided by {}?",
        ("s=sum(map(int,str({0}**{1})))", "{2}**s%{3}"),
        (range(12, 100), range(20, 60), range(12, 100), PRIMES),
        _chained,
    ),
)
"""The questions; their level is their place, from 1 on."""


def _instance(generator: np.random.Generator, level: int) -> Spec:
    numbers = QUESTIONS[level - 1].numbers
    return {"question": level - 1, "numbers": [one[int(generator.integers(len(one)))] for one in numbers]}


def _question(spec: Spec) -> NumberQuestion:
    return QUESTIONS[spec["question"]]


def value_of(spec: Spec) -> int:
    """The answer to a question."""
    return _question(spec).value(*spec["numbers"])


def _compact(spec: Spec) -> str:
    return f"py {_question(spec).compact.format(*spec['numbers'])}"


def _natural(spec: Spec) -> str:
    return (
        f"{_question(spec).words.format(*spec['numbers'])}\n\nYou have Python. Write a program between a line "
        "```python and a line ``` to have it run: what it prints follows in a block named "
        "output, and what it defines stays for your next program. Give the number in \\boxed{...}."
    )


def _solve(spec: Spec) -> Solution:
    """The programs, each with what it prints behind it; only the last one prints something."""
    programs = [program.format(*spec["numbers"]) for program in _question(spec).programs]
    answer = str(value_of(spec))
    said = [""] * (len(programs) - 1) + [answer]
    compact = "".join(f"[{program}]{reply}" for program, reply in zip(programs, said))
    printed = [*programs[:-1], f"print({programs[-1]})"]
    natural = "".join(f"```python\n{program}\n```\n```output\n{reply}\n```\n" for program, reply in zip(printed, said))
    return Solution(answer, compact, natural)


def _check(spec: Spec, text: str) -> Verdict:
    answer = text.strip() if len(text) <= 32 else ""
    if _ANSWER.fullmatch(answer) is None:
        return Verdict.fail("format", "expected a whole number")
    value = str(int(answer))
    return Verdict.ok(value) if int(answer) == value_of(spec) else Verdict.fail("wrong", answer=value)


INTERPRETER = Task(
    name="interpreter",
    domain="tools",
    summary=(
        "Compute a number with Python at hand; levels: 1 a remainder of a power, 2 its digits, 3 primes, 4 numbers by "
        "their digits, 5 two steps."
    ),
    generator=Generator(levels=range(1, len(QUESTIONS) + 1), instance=_instance, canonical=_compact),
    wordings=Wordings(compact=_compact, natural=_natural, solve=_solve),
    checker=Checker(check=_check),
    abilities=(OwnBase("remainders of powers with Python", levels=(1,), num_steps=46, context=256),),
    world=interpreter(),
)
