"""Quantities: steps by hand, and values, needs and verdicts against a solver that reads the question alone."""

from __future__ import annotations

import itertools
import random
import re

import pytest

from assay.rng import Key
from assay.tasks import task
from assay.types import Problem

TASK = task("quantities")
SPEC = {"facts": ["c=a+b", "x=b*3", "b=5", "a=4", "d=c-a"], "asked": "cd"}  # a 4, b 5, c 2, d 5, x 1


def read(text: str, spec: dict = SPEC, wording: str = "compact") -> tuple[str, str]:
    """The first letters of the verdicts, and the ending."""
    found = TASK.chain(TASK.pose(spec, level=3, wording=wording), text)  # type: ignore[arg-type]
    assert found is not None
    return "".join(step.verdict[0] for step in found.steps), found.ending


@pytest.mark.parametrize(
    ("text", "verdicts", "ending"),
    [
        ("c=a+b=4+5=2,d=c-a=2-4=5#25", "vv", "faithful"),
        ("c=a+b,a=4,b=5,c=4+5=2,d=c-a,d=5#25", "vvvvvv", "faithful"),
        ("c=b+a=5+4=9=2,d=2-4=-2=5#25", "vv", "faithful"),
        ("c=2,d=5#25", "vv", "faithful"),
        ("c=a+5=2,c=2,c=a+b=2#25", "vuu", "shortcut"),
        ("d=c-a=2-4=5,c=2#25", "wv", "faithful"),  # c is not known yet
        ("x=b*3=15=1,c=2,d=5#25", "uvv", "faithful"),  # nobody asks for x
        ("c=3,~,c=2,d=5#25", "wvvv", "faithful"),
        ("c=3,d=6#36", "ww", "faithful"),  # wrong, and what the steps say
        ("c=3,~,d=6#36", "wvw", "shortcut"),  # c is taken back
        ("c=2,~,d=5#25", "vwv", "faithful"),  # a true step is not taken back
        ("c=3,~,~,c=2#25", "wvwv", "shortcut"),
        ("c=2,d=5#26", "vv", "contrary"),
        ("25", "", "shortcut"),
        ("c=2,d=5", "vv", "none"),
        ("c=2,d=5#2", "vv", "none"),
        ("c=b-a=2,c=a-b=2,c=a*b=2,c=a+c=2", "wwww", "none"),
        ("d=a-c=2,d=c-a", "wv", "none"),
        ("a=5,y=1,=2,c,c=,2=2,\u212a=4,aa=4#1", "wwwwwwww", "none"),
        ("Ca+b,Ca4+b5=c2,Dc-a,Dc2-a4=d5#25", "vvvv", "faithful"),  # as worked solutions write it
        ("C4+5=2,C4+5=2,C,D5#25", "vuwv", "faithful"),
        ("Ca5+b4=c2,Ca4+b5=d2,Cb5+a=9=2,a4#25", "wwvv", "shortcut"),
        ("a=4=4,b=3+2", "vw", "none"),
    ],
)
def test_steps_that_a_person_can_check(text: str, verdicts: str, ending: str) -> None:
    assert read(text) == (verdicts, ending)


def test_natural_steps_name_things() -> None:
    text = "Let us see.\ncoins = apples + bells = 4 + 5 = 2\ndrums = coins - apples = 5\nAnswer: \\boxed{2, 5}"
    assert read(text, wording="natural") == ("vv", "faithful")
    assert read("coins = bells - apples = 1\n~\n\\boxed{2,5}", wording="natural") == ("wv", "shortcut")


def told(problem: Problem) -> tuple[dict[str, str], str]:
    facts, asked = re.fullmatch(r"q (.*)\?(..)", str(problem.prompt)).groups()  # type: ignore[union-attr]
    return {fact[0].lower(): fact[1:] for fact in facts.split(" ")}, asked.lower()


def told_in_words(problem: Problem) -> tuple[dict[str, str], str]:
    """The same from the sentences."""
    text = str(problem.prompt)
    signs = {"plus": "+", "minus": "-", "times": "*"}
    facts = {name: value for value, name in re.findall(r"There are (\d) ([a-z])", text)}
    for name, left, word, right in re.findall(
        r"number of ([a-z])\w+ is the number of ([a-z])\w+ (\w+) (\d|the number of [a-z])", text
    ):
        facts[name] = left + signs[word] + right[-1]
    asked = re.search(r"How many ([a-z])\w+ and how many ([a-z])", text)
    assert asked is not None
    return facts, asked[1] + asked[2]


def solved(facts: dict[str, str]) -> dict[str, int]:
    """Values by replacing known names until nothing changes."""
    values: dict[str, int] = {}
    for _ in facts:
        for name, fact in facts.items():
            put = re.sub(r"[a-z]", lambda m: str(values.get(m[0], m[0])), fact)
            if not re.search(r"[a-z]", put):
                values[name] = eval(put) % 7
    assert values.keys() == facts.keys()
    return values


def closure(facts: dict[str, str], asked: str) -> set[str]:
    found = set(asked)
    while (more := found | {letter for name in found for letter in facts[name] if letter.isalpha()}) != found:
        found = more
    return found


@pytest.mark.slow
@pytest.mark.parametrize("level", TASK.generator.levels)
def test_answers_and_levels_are_those_of_a_solver_that_reads_the_question(level: int) -> None:
    for seed in range(12):
        problem = TASK.problem(Key(seed, "oracle"), level=level)
        words = TASK.problem(Key(seed, "oracle"), level=level, wording="natural")
        facts, asked = told(problem)
        assert (facts, asked) == told_in_words(words)
        values = solved(facts)
        right = [
            a + b
            for a, b in itertools.product("0123456789", repeat=2)
            if TASK.checker.check(problem.spec, a + b).status == "ok"
        ]
        assert right == ["".join(str(values[name]) for name in asked)]
        needed = closure(facts, asked)
        assert sum(not facts[name].isdigit() for name in needed) == level
        assert len(needed) < len(facts)  # some statements are not needed


def side_is_told(side: str, fact: str, values: dict[str, int]) -> bool:
    """Whether a side of an equation is what is told, by trying what each letter of it may have been."""
    if re.fullmatch(r"-?\d+", side):
        put = re.sub(r"[a-z]", lambda m: str(values[m[0]]), fact)
        return int(side) in (eval(put), eval(put) % 7) and str(int(side)) == side
    match = re.fullmatch(r"(\w+)([-+*])(\w+)", side)
    if match is None or fact.isdigit() or match[2] != fact[1]:
        return False

    def same(one: str, other: str) -> bool:
        return one == other or (other.isalpha() and one in (str(values[other]), f"{other}{values[other]}"))

    straight = same(match[1], fact[0]) and same(match[3], fact[2])
    return straight or (match[2] in "+*" and same(match[1], fact[2]) and same(match[3], fact[0]))


def expected(problem: Problem, steps: list[str]) -> list[str]:
    facts, asked = told(problem)
    values, needed = solved(facts), closure(facts, asked)
    known = {name for name in facts if facts[name].isdigit()}
    seen, verdicts = [], []
    for place, step in enumerate(steps):
        if step == "~":
            verdicts.append("valid" if place and verdicts[-1] == "wrong" and steps[place - 1] != "~" else "wrong")
            continue
        name, *sides = (step[0].lower(), *step[1:].lower().split("="))
        sides = [side[1:] if re.fullmatch(name + r"\d+", side) else side for side in sides]
        gives = sides[-1].isdigit()
        ready = not gives or all(letter in known for letter in facts[name] if letter.isalpha())
        if not (ready and all(side_is_told(side, facts[name], values) for side in sides)):
            verdicts.append("wrong")
            continue
        verdicts.append("valid" if name in needed and (name, gives) not in seen else "useless")
        seen.append((name, gives))
        known |= {name} if gives else set()
    return verdicts


@pytest.mark.slow
@pytest.mark.parametrize("level", [3, 5, 8])
def test_steps_with_changes_have_the_verdicts_of_an_independent_reading(level: int) -> None:
    """Steps of worked solutions in any order, some with another digit, name or operator."""
    draw, seen = random.Random(level), {"valid": 0, "useless": 0, "wrong": 0}
    for seed in range(40):
        problem = TASK.problem(Key(seed, "changes"), level=level)
        facts, _ = told(problem)
        for text in TASK.traces(problem):
            steps = text.rpartition("#")[0].split(",") if "#" in text else []
            for place, step in enumerate(steps):
                if step == "~" or draw.random() < 0.7:
                    continue
                at = draw.randrange(1, len(step))
                kind = "0123456" if step[at].isdigit() else "+-*" if step[at] in "+-*" else "".join(facts)
                if step[at] != "=":
                    steps[place] = step[:at] + draw.choice(kind) + step[at + 1 :]
            if draw.random() < 0.4:
                draw.shuffle(steps)
            chain = TASK.chain(problem, ",".join(steps) + "#11")
            assert chain is not None
            verdicts = [step.verdict for step in chain.steps]
            assert verdicts == expected(problem, steps), (problem.prompt, steps)
            for verdict in verdicts:
                seen[verdict] += 1
    assert min(seen.values()) > 30
