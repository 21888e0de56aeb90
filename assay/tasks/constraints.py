"""Write a text that keeps several rules at once. Many texts are right.

The rules are true of a hidden text of random letters, so that they can be kept together. The score `rules` is the share
of rules that an answer keeps.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from assay.tasks.abilities import OwnBase
from assay.tasks.task import Checker, Generator, Solution, Spec, Task, Wordings
from assay.types import Verdict
from assay.verifiers.instructions import Rule, meets, share

LETTERS = "abcd"
_SHORT = {"length": "n", "count": "", "starts": "^", "ends": "$", "without": "~", "with": "+"}


def _instance(generator: np.random.Generator, level: int) -> Spec:
    size = int(generator.integers(4, 9))
    text = "".join(LETTERS[int(i)] for i in generator.integers(0, len(LETTERS) - 1, size))
    start = int(generator.integers(size - 1))
    counted = text[int(generator.integers(size))]
    absent = next(letter for letter in LETTERS if letter not in text)
    rules = [
        ["length", size],
        ["count", counted, text.count(counted)],
        ["starts", text[0]],
        ["ends", text[-1]],
        ["with", text[start : start + 2]],
        ["without", absent],
    ]
    chosen = sorted(generator.permutation(len(rules))[:level].tolist())
    return {"rules": [rules[i] for i in chosen], "hidden": text}


def _canonical(spec: Spec) -> str:
    return ",".join(_noted(rule) for rule in spec["rules"])


def _noted(rule: Rule) -> str:
    kind, *arguments = rule
    return _SHORT[kind] + (f"{arguments[0]}={arguments[1]}" if kind == "count" else str(arguments[0]))


def _compact(spec: Spec) -> str:
    return f"D {_canonical(spec)}"


def _said(rule: Rule) -> str:
    kind, *arguments = rule
    first, last = arguments[0], arguments[-1]
    return {
        "length": f"have exactly {first} letters",
        "count": f"contain the letter {first} exactly {last} times",
        "starts": f"begin with {first}",
        "ends": f"end with {first}",
        "with": f"contain {first}",
        "without": f"not contain the letter {first}",
    }[kind]


def _natural(spec: Spec) -> str:
    wishes = "; ".join(_said(rule) for rule in spec["rules"])
    return (
        f"Write one word of the letters {', '.join(LETTERS)}; other characters and spaces are not allowed. The word "
        f"must keep all of these rules: {wishes}. Give the word alone in \\boxed{{...}}, for example \\boxed{{abca}}."
    )


def _solve(spec: Spec) -> Solution:
    return Solution(spec["hidden"])


def _is_word(text: str) -> bool:
    return 0 < len(text) <= 100 and not set(text) - set(LETTERS)


def _kept(spec: Spec, text: str) -> list[bool]:
    return [_is_word(text) and meets(rule, text) == 1 for rule in spec["rules"]]


def _check(spec: Spec, text: str) -> Verdict:
    if not _is_word(text):
        return dataclasses.replace(Verdict.fail("format", f"no word of {LETTERS}"), scores={"rules": 0.0})
    broken = [rule for rule in spec["rules"] if not meets(rule, text)]
    verdict = Verdict.fail("wrong", f"breaks: {_said(broken[0])}", text) if broken else Verdict.ok(text)
    return dataclasses.replace(verdict, scores={"rules": share(spec["rules"], text)})


CONSTRAINTS = Task(
    name="constraints",
    domain="instructions",
    summary="Write a word that keeps several rules at once; the level is the number of rules.",
    generator=Generator(
        levels=range(1, 7),
        first=2,  # the first has a handful of problems
        instance=_instance,
        canonical=_canonical,
    ),
    wordings=Wordings(compact=_compact, natural=_natural, solve=_solve),
    checker=Checker(check=_check, rules=_kept),
    abilities=(OwnBase("words that keep two rules", levels=(2,), num_steps=100),),
)
