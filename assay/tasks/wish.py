"""A user whose wish depends on facts that the user alone knows: asking is the way to find it.

The question holds a tree of decisions. Its inner nodes are things that the user may have, its leaves are persons that
the user knows, and the answer is the letter with which the name of the person at the right leaf begins. Only the things
on the path matter, so that needless questions can be counted: the verdict has them as the score `needless`. A user
answers `level` + 2 questions, one more than are needed.

`wish` has a user by a script; in `wish-model` a model of the recipe plays the user, a seat that alone sees the facts.
`wish-reply` is what such a model must be able to do: the facts and a question, and the answer of the script to it.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from assay.tasks.abilities import Hidden, OwnBase, PlayedFrom
from assay.tasks.task import Checker, Generator, Solution, Spec, Task, Wordings
from assay.types import Problem, Verdict
from assay.verifiers.answers import find_answer
from assay.worlds.play import Line, World
from assay.worlds.speech import TAGS
from assay.worlds.tools import ToolError
from assay.worlds.user import ASK, Script, user

_THINGS = "car garden dog piano bicycle boat telescope camera tent cat violin balcony horse printer sofa kayak"
_PERSONS = (
    "aunt uncle brother sister mother father cousin boss baker doctor dentist tailor neighbour teacher landlord "
    "grandmother"
)
THINGS, PERSONS = tuple(_THINGS.split()), tuple(_PERSONS.split())
LETTERS = "abcdefghijklmnopqrstuvwxyz"
SPARE = 1  # questions that a user answers beyond those that are needed
NEEDLESS = "needless"  # the score of a verdict: questions that were refused, were asked twice, or stand on no path
DONT_KNOW = "I do not know what you mean. Ask me about one thing."


class WishTree(NamedTuple):
    """A thing, and what is to be found where the user has it and where not; or a person, at a leaf."""

    name: str
    yes: WishTree | None = None
    no: WishTree | None = None


# Instances


def _instance(generator: np.random.Generator, level: int) -> Spec:
    """A full tree of this depth; no thing comes twice on a path, and two leaves beside each other differ."""

    def grown(depth: int, before: str) -> str:
        if depth == 1:
            yes, no = generator.permutation(len(PERSONS))[:2].tolist()
            below = (LETTERS[yes] + LETTERS[no]).upper()
        else:
            below = ""
        free = [letter for letter in LETTERS[: len(THINGS)] if letter not in before]
        thing = free[int(generator.integers(len(free)))]
        return thing + (below or "".join(grown(depth - 1, before + thing) for _ in "yn"))

    tree = grown(level, "")
    has = "".join(letter for letter in LETTERS[: len(THINGS)] if generator.random() < 0.5)
    names = "".join(LETTERS[int(i)] for i in generator.integers(len(LETTERS), size=len(PERSONS)))
    return {"tree": tree, "has": has, "names": names, "most": level + 1 + SPARE}


def read(tree: str) -> WishTree:
    """The tree that is written so, each node before what is below it: `read("aBC").yes.name` is "B"."""
    letters = iter(tree)

    def node() -> WishTree:
        name = next(letters)
        return WishTree(name) if name.isupper() else WishTree(name, node(), node())

    return node()


def path(spec: Spec) -> str:
    """The facts that matter, in the order in which they are found: the things on the path, then the person."""
    node, found = read(spec["tree"]), ""
    while node.yes is not None and node.no is not None:
        found += node.name
        node = node.yes if node.name in spec["has"] else node.no
    return found + node.name


def fact(spec: Spec, name: str) -> str:
    """A fact about the user: 1 or 0 of a thing, the first letter of the name of a person."""
    if name.islower():
        return str(int(name in spec["has"]))
    return spec["names"][LETTERS.index(name.lower())]


def _canonical(spec: Spec) -> str:
    return f"{spec['tree']} {spec['has']} {spec['names']}"


# Questions and answers


def asked_about(question: str) -> str | None:
    """The one fact that a question is about, a letter, or a thing or person in words; None if it is not about one."""
    if len(question) == 1:
        known = LETTERS[: len(THINGS)] + LETTERS[: len(PERSONS)].upper()
        return question if question in known else None
    words = {part for word in re.findall(r"[a-z]+", question.lower()) for part in (word, word.removesuffix("s"))}
    named = [LETTERS[i] for i, thing in enumerate(THINGS) if thing in words]
    named += [LETTERS[i].upper() for i, person in enumerate(PERSONS) if person in words]
    return named[0] if len(named) == 1 else None


def _answer(spec: Spec, question: str) -> str:
    """A letter or digit to a letter, a sentence to a question in words."""
    name = asked_about(question)
    if name is None:
        raise ToolError(DONT_KNOW)
    return fact(spec, name) if len(question) == 1 else in_words(spec, name)


def in_words(spec: Spec, name: str) -> str:
    if name.isupper():
        return f"The name of my {PERSONS[LETTERS.index(name.lower())]} begins with {fact(spec, name)}."
    thing = THINGS[LETTERS.index(name)]
    return f"Yes, I have a {thing}." if name in spec["has"] else f"No, I do not have a {thing}."


def question_in_words(name: str) -> str:
    if name.isupper():
        return f"With which letter does the name of your {PERSONS[LETTERS.index(name.lower())]} begin?"
    return f"Do you have a {THINGS[LETTERS.index(name)]}?"


def known_facts(spec: Spec) -> str:
    """What the user alone knows, each thing and person with the user's answer behind it: `a1b0...AqBw...`."""
    things, persons = LETTERS[: len(THINGS)], LETTERS[: len(PERSONS)].upper()
    return "".join(name + fact(spec, name) for name in things + persons)


def _facts_in_words(spec: Spec) -> str:
    has = ", ".join(f"a {THINGS[LETTERS.index(letter)]}" for letter in spec["has"]) or "nothing"
    names = ", ".join(f"{person} {letter}" for person, letter in zip(PERSONS, spec["names"], strict=True))
    return f"You have {has}, and nothing else. The first letters of names: {names}."


def what_matters(spec: Spec) -> str:
    """The facts on the path, each a letter and what the user would say: `a1b0Bw`. The last one is the answer."""
    return "".join(name + fact(spec, name) for name in path(spec))


def _what_matters_in_words(spec: Spec) -> str:
    return " ".join(in_words(spec, name) for name in path(spec))


def _told(spec: Spec, question: str) -> str:
    """What a model reads that plays the user. It is never told the tree."""
    if len(question) == 1:
        return f"u {known_facts(spec)} {question}"
    return (
        f"{_facts_in_words(spec)} Answer this question about yourself in one short sentence, and say nothing else: "
        f"{question}"
    )


SCRIPT = Script(answer=_answer, refusal=lambda question: DONT_KNOW if " " in question else "?", told=_told)

# Wordings


def _natural(spec: Spec) -> str:
    def rule(node: WishTree) -> str:
        if node.yes is None or node.no is None:
            return f"their {PERSONS[LETTERS.index(node.name.lower())]}"
        thing = THINGS[LETTERS.index(node.name)]
        return f"(if they have a {thing}: {rule(node.yes)}; if not: {rule(node.no)})"

    return (
        f"A user thinks of a person: {rule(read(spec['tree']))}. With which letter does the name of this person begin? "
        f"Only the user knows. {TAGS.about((ASK,))}\nA question such as {question_in_words('a')} or "
        f"{question_in_words('A')} is answered; you may ask {spec['most']} of them, about one thing each. Give the "
        "letter in \\boxed{...}."
    )


def _solve(spec: Spec) -> Solution:
    """The questions on the path, each with its answer."""
    compact = natural = ""
    for name in path(spec):
        compact += f"[{name}]{fact(spec, name)}"
        asked = question_in_words(name)
        natural += TAGS.call(ASK.name, {"question": asked}, (ASK,)) + TAGS.write([Line(_answer(spec, asked))])
    return Solution(fact(spec, path(spec)[-1]), compact, natural)


# Verdicts


def _check(spec: Spec, text: str) -> Verdict:
    answer = text.strip() if len(text) <= 16 else ""
    if len(answer) != 1 or answer not in LETTERS:
        return Verdict.fail("format", "expected one small letter")
    right = answer == fact(spec, path(spec)[-1])
    return Verdict.ok(answer) if right else Verdict.fail("wrong", answer=answer)


def needless(problem: Problem, text: str) -> int:
    """How many questions of a response were not needed."""
    written = r"\[([^\[\]]*)\]" if problem.wording == "compact" else rf"(?s)<{ASK.name}>(.*?)</{ASK.name}>"
    asked = [asked_about(question.strip()) for question in re.findall(written, text[:_LONGEST])]
    return len(asked) - len(set(asked) & set(path(problem.spec)))


_LONGEST = 1 << 16  # characters of a response in which questions are counted


def _verify_all(pairs: Sequence[tuple[Problem, str]]) -> list[Verdict]:
    return [_verified(problem, text) for problem, text in pairs]


def _verified(problem: Problem, text: str) -> Verdict:
    answer = find_answer(text, problem.wording)
    if answer is None:
        found = Verdict.fail("format", "no marked answer")
    else:
        found = _check(problem.spec, answer) if answer else Verdict.fail("empty")
    return dataclasses.replace(found, scores={NEEDLESS: float(needless(problem, text))})


def _wish(name: str, mark: str, who: str, world: World, *abilities: OwnBase | PlayedFrom) -> Task:
    return Task(
        name=name,
        domain="dialogue",
        summary=f"Find out what a user wishes by asking {who}; the level is the depth of the tree of what matters.",
        generator=Generator(levels=range(1, 6), first=2, instance=_instance, canonical=_canonical),
        wordings=Wordings(compact=lambda spec: f"{mark}{spec['most']} {spec['tree']}", natural=_natural, solve=_solve),
        checker=Checker(check=_check, verify_many=_verify_all),
        abilities=(Hidden(what_matters, _what_matters_in_words), *abilities),
        world=world,
    )


WISH = _wish(
    "wish",
    "y",
    "about facts that the user alone knows",
    user(SCRIPT, natural=TAGS),
    OwnBase("what a user wishes, from two questions and a third", levels=(2,), num_steps=90, context=128),
)
WISH_MODEL = _wish(
    "wish-model",
    "z",
    "a model that plays the user",
    user(SCRIPT, sees=("has", "names"), natural=TAGS),
    PlayedFrom(("wish", "wish-reply")),
)

# The user's answers as a task


def _reply_instance(generator: np.random.Generator, level: int) -> Spec:
    """A user of whom `level` things are known, and a question about a thing or a person."""
    known = sorted(generator.permutation(len(THINGS))[:level].tolist())
    names = "".join(LETTERS[int(i)] for i in generator.integers(len(LETTERS), size=len(PERSONS)))
    asked = LETTERS[int(generator.integers(len(THINGS)))]
    asked = asked.upper() if generator.random() < 0.5 else asked
    return {"has": "".join(LETTERS[i] for i in known), "names": names, "asked": asked}


def _check_reply(spec: Spec, text: str) -> Verdict:
    answer = text.strip() if len(text) <= SCRIPT.longest else ""
    right = fact(spec, spec["asked"])
    if answer in (right, in_words(spec, spec["asked"])):
        return Verdict.ok(right)
    return Verdict.fail("wrong", answer=answer[:20]) if answer else Verdict.fail("empty")


WISH_REPLY = Task(
    name="wish-reply",
    domain="dialogue",
    summary="Answer a question as a user would who has so many things, which is the level.",
    generator=Generator(
        levels=range(4, 13),
        first=8,
        instance=_reply_instance,
        canonical=lambda spec: f"{known_facts(spec)} {spec['asked']}",
    ),
    wordings=Wordings(
        compact=lambda spec: _told(spec, spec["asked"]),
        natural=lambda spec: f"{_told(spec, question_in_words(spec['asked']))} Put it in \\boxed{{}}.",
        solve=lambda spec: Solution(fact(spec, spec["asked"])),
    ),
    checker=Checker(check=_check_reply),
)
