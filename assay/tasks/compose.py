"""String functions with meaningless names, composed: f(g(x)). Some functions are never composed in training.

Level 1 asks for single functions, all of them, and is split by digest as usual. At higher levels,
the test split has exactly the compositions that contain a reserved function. The others are
divided between train and valid by digest. So valid measures new strings and orders of functions
that were composed in training, and test measures composition of functions that were learned
alone. The difference between the two shows how far the skill of composing fails to carry over.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import accumulate

import numpy as np

from assay.rng import digest
from assay.tasks.abilities import Concepts, OwnBase
from assay.tasks.task import Checker, Generator, Solution, Spec, Split, Task, Wordings
from assay.types import Verdict

_LETTERS = "abcdefgh"
_LENGTHS = range(4, 7)
_ALLOWED = range(2, 17)  # lengths of intermediate strings
_MAX_CHARACTERS = 64
_ANSWER = re.compile(r"[a-z]+")
_TRAIN_PERCENT = 90  # of the compositions without a reserved function

_AFTER = str.maketrans("abcdefghijklmnopqrstuvwxyz", "bcdefghijklmnopqrstuvwxyza")
_BEFORE = str.maketrans("bcdefghijklmnopqrstuvwxyza", "abcdefghijklmnopqrstuvwxyz")
_PARTNER = str.maketrans("abcdefghijklmnopqrstuvwxyz", "badcfehgjilknmporqtsvuxwzy")

FUNCTIONS: dict[str, tuple[str, Callable[[str], str]]] = {
    "A": ("reverses the string", lambda x: x[::-1]),
    "B": ("sorts the letters alphabetically", lambda x: "".join(sorted(x))),
    "C": ("moves the first letter to the end", lambda x: x[1:] + x[:1]),
    "D": ("moves the last letter to the front", lambda x: x[-1:] + x[:-1]),
    "E": ("exchanges the first and the last letter", lambda x: x[-1] + x[1:-1] + x[0] if len(x) > 1 else x),
    "F": ("removes the first letter", lambda x: x[1:]),
    "G": ("removes the last letter", lambda x: x[:-1]),
    "H": ("writes the first letter twice", lambda x: x[:1] + x),
    "I": ("writes the last letter twice", lambda x: x + x[-1:]),
    "J": ("appends the reversed string", lambda x: x + x[::-1]),
    "K": ("writes the string twice", lambda x: x + x),
    "L": ("writes every letter twice", lambda x: "".join(c + c for c in x)),
    "M": ("keeps the 1st, 3rd, 5th, ... letter", lambda x: x[::2]),
    "N": ("keeps the 2nd, 4th, 6th, ... letter", lambda x: x[1::2]),
    "O": (
        "exchanges the letters in pairs: 1st and 2nd, 3rd and 4th, ...",
        lambda x: "".join(x[i : i + 2][::-1] for i in range(0, len(x), 2)),
    ),
    "P": ("replaces each letter by the next of the alphabet (z by a)", lambda x: x.translate(_AFTER)),
    "Q": ("replaces each letter by the one before it in the alphabet (a by z)", lambda x: x.translate(_BEFORE)),
    "R": ("keeps the first occurrence of each letter", lambda x: "".join(dict.fromkeys(x))),
    "S": ("puts an x in front", lambda x: "x" + x),
    "T": ("puts a z at the end", lambda x: x + "z"),
    "U": ("cuts off the first half (the shorter one) and appends it", lambda x: x[len(x) // 2 :] + x[: len(x) // 2]),
    "V": ("sorts the letters in reverse alphabetical order", lambda x: "".join(sorted(x, reverse=True))),
    "W": ("exchanges a with b, c with d, e with f, and so on", lambda x: x.translate(_PARTNER)),
    "X": ("reverses the first half (the shorter one)", lambda x: x[: len(x) // 2][::-1] + x[len(x) // 2 :]),
}
RESERVED = frozenset("DIOQVX")
_NAMES = "".join(FUNCTIONS)


def _instance(generator: np.random.Generator, level: int) -> Spec:
    """A random instance in which no string occurs twice. So every function
    matters, and the question is not the answer.
    """
    while True:
        draws = generator.random(1 + _LENGTHS.stop + level).tolist()
        length = _LENGTHS[int(draws[0] * len(_LENGTHS))]
        text = "".join(_LETTERS[int(u * len(_LETTERS))] for u in draws[1 : 1 + length])
        functions = "".join(_NAMES[int(u * len(_NAMES))] for u in draws[1 + _LENGTHS.stop :])
        strings = [text, *_strings({"functions": functions, "text": text})]
        if len(set(strings)) == len(strings) and all(len(string) in _ALLOWED for string in strings):
            return {"functions": functions, "text": text}


def _strings(spec: Spec) -> list[str]:
    """The string after each function; functions are written outermost first, so the last is applied first."""
    steps = accumulate(reversed(spec["functions"]), lambda x, f: FUNCTIONS[f][1](x), initial=spec["text"])
    return list(steps)[1:]


def _split(spec: Spec) -> Split:
    functions = spec["functions"]
    bucket = int(digest("split", "compose", _canonical(spec)), 16) % 100
    if len(functions) == 1:
        return "train" if bucket < 80 else "valid" if bucket < 90 else "test"
    if not RESERVED.isdisjoint(functions):
        return "test"
    return "train" if bucket < _TRAIN_PERCENT else "valid"


def _canonical(spec: Spec) -> str:
    return f"{'('.join(spec['functions'])}({spec['text']}{')' * len(spec['functions'])}"


def _compact(spec: Spec) -> str:
    return f"F {_canonical(spec)}"


def _natural(spec: Spec) -> str:
    functions = spec["functions"]
    lines = "\n".join(f"- func_{name} {FUNCTIONS[name][0]}" for name in sorted(set(functions)))
    call = "(".join(f"func_{name}" for name in functions)
    return (
        f"These functions take a string and return a string:\n\n{lines}\n\n"
        f'What is {call}("{spec["text"]}"{")" * len(functions)}? '
        "The innermost function is applied first. Show the string after each function. Give the final string, without "
        "quotation marks, in \\boxed{...}."
    )


def _solve(spec: Spec) -> Solution:
    strings, before, lines = _strings(spec), spec["text"], []
    for name, after in zip(reversed(spec["functions"]), strings):
        lines.append(f"func_{name}({before}) = {after}")
        before = after
    return Solution(strings[-1], ",".join(strings), "\n".join(lines))


def _check(spec: Spec, text: str) -> Verdict:
    answer = text.strip()
    if len(answer) > _MAX_CHARACTERS or _ANSWER.fullmatch(answer) is None:
        return Verdict.fail("format", "expected a string of small letters")
    if answer == _strings(spec)[-1]:
        return Verdict.ok(answer)
    return Verdict.fail("wrong", answer=answer)


COMPOSE = Task(
    name="compose",
    domain="strings",
    summary=(
        "Compositions of string functions f(g(x)); the level is their number. Functions "
        f"{', '.join(sorted(RESERVED))} are composed in the test split only."
    ),
    generator=Generator(levels=range(1, 7), instance=_instance, canonical=_canonical, split=_split),
    wordings=Wordings(compact=_compact, natural=_natural, solve=_solve),
    checker=Checker(check=_check),
    abilities=(
        Concepts(of=lambda spec: spec["functions"]),
        OwnBase("one function of a string", levels=(1,), num_steps=300),
    ),
)
