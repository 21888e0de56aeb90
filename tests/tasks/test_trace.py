"""Traced programs: steps by hand, and executions and slices against an interpreter that reads the question alone."""

from __future__ import annotations

import itertools
import random
import re

import pytest

from assay.rng import Key
from assay.tasks import task
from assay.tasks.trace import execute
from assay.types import Problem

TASK = task("trace")
SPEC = {"start": "2305", "lines": ["c=a+b", "?c>4", "a=a*2", "d=d-1", "b=c-a", "^4"], "asked": "ab"}
# 1: c 5; 2: 5 > 4 holds; 3: a 4; 4: d 4; 5: b 1; 4: d 3; 5: b 1


def read(text: str, spec: dict = SPEC, wording: str = "compact") -> tuple[str, str]:
    """The first letters of the verdicts, and the ending."""
    found = TASK.chain(TASK.pose(spec, level=7, wording=wording), text)  # type: ignore[arg-type]
    assert found is not None
    return "".join(step.verdict[0] for step in found.steps), found.ending


@pytest.mark.parametrize(
    ("text", "verdicts", "ending"),
    [
        ("1a+b=2+3=c5,2c>4=5>4=1,3a*2=2*2=a4,5c-a=5-4=b1,5c-a=5-4=b1#41", "vvvuv", "faithful"),
        (
            "1a+b=2+3=c5,2c>4=5>4=1,3a*2=2*2=a4,4d-1=5-1=d4,5c-a=5-4=b1,4d-1=4-1=d3,5c-a=5-4=b1#41",
            "vvvuuuv",
            "faithful",
        ),
        ("1c=b+a=5,2?5>4=1,3a=2*2=4,5c-a=b1,5b=5-4=b1#41", "vvvuv", "faithful"),
        ("3a*2=2*2=a4#41", "w", "shortcut"),  # it depends on the condition of line 2, and that on line 1
        ("2c>4=5>4=1#41", "w", "shortcut"),
        ("1a2+b3=c5,2c5>4=1,3a2*2=a4,5c5-a4=b1,5c5-a4=b1#41", "vvvuv", "faithful"),
        ("1a2+b3=c5,2c5>44=?1,3a2*22=a4,5c5-a4=b1,5c5-a4=b1#41", "vvvuv", "faithful"),  # as worked solutions write it
        ("1a2+b3=c5,2c5>45=?1,3a2*222=a4#41", "vww", "shortcut"),
        ("1a2+b4=c5,1a3+b2=c5,1b3+a2=c5#41", "wwv", "shortcut"),
        ("1a+b=2+3=c4,~,1a+b=2+3=c5#41", "wvv", "shortcut"),
        ("1a+b=2+3=c5,~#41", "vw", "shortcut"),
        ("1a+b=2+3=c5,1a+b=2+3=c5#41", "vw", "shortcut"),  # the line is executed once
        ("1a+b=2+3=c5,2c>4=5>4=0#41", "vw", "shortcut"),
        ("4d-1=5-1=d4,4d-1=4-1=d3#41", "uu", "shortcut"),  # the loop
        ("4d-1=4-1=d3#41", "w", "shortcut"),  # d of the second time depends on the first
        ("1a+b=2+3=a5,1a-b=2+3=c5,1c=2+3=b5,1c=3+3=c5,7a+b=c5,1=c5,1a+b=5#41", "wwwwwww", "shortcut"),
        ("41", "", "shortcut"),
        ("1a+b=2+3=c5", "", "none"),  # neither '#' nor ',': an answer alone, which cannot be read
        ("1a+b=2+3=c5,", "v", "none"),
        ("3a=1,5b=2#12", "ww", "shortcut"),  # they do not say what they compute
        ("3a=1*1=a1,5c-a=b2#12", "ww", "faithful"),  # wrong, and what the steps say
        ("3a*2=a1,5c-a=b2#21", "ww", "contrary"),
    ],
)
def test_steps_that_a_person_can_check(text: str, verdicts: str, ending: str) -> None:
    assert read(text) == (verdicts, ending)


def test_a_line_that_a_condition_holds_back_is_known_by_the_condition() -> None:
    spec = {"start": "2300", "lines": ["c=a+b", "?c>5", "a=a*2", "b=c-a"], "asked": "cb"}  # c 5, no, b 3
    assert read("1a+b=2+3=c5,2c>5=5>5=0,4c-a=5-2=b3#53", spec) == ("vvv", "faithful")
    assert read("1a+b=2+3=c5,4c-a=5-2=b3#53", spec) == ("vw", "faithful")  # whether a is 2 still, is not known


def test_natural_steps_name_the_line() -> None:
    lines = (
        "line 1: c = a + b = 2 + 3 = 5",
        "line 2: c > 4 = 5 > 4 = 1",
        "So line 3 is done:",
        "line 3: a = 2 * 2 = 4",
    )
    text = "\n".join((*lines, "\\boxed{4,1}"))
    assert read(text, wording="natural")[0] == "vvwv"  # a sentence with a number claims something that cannot be read


def told(problem: Problem) -> tuple[dict[str, int], list[str], str]:
    match = re.fullmatch(r"t ((?:[a-d]\d){4}) (.*)\?([a-d]{2})", str(problem.prompt))
    assert match is not None
    lines = match[2].split(" ")
    assert [line[0] for line in lines] == [str(number) for number in range(1, len(lines) + 1)]
    return (
        {pair[0]: int(pair[1]) for pair in re.findall(r"..", match[1])},
        [line[1:].lower() for line in lines],
        match[3],
    )


def run(values: dict[str, int], lines: list[str]) -> list[tuple[int, str, int]]:
    """(line, variable or "", value) of each executed line. The loop is written out, and Python computes."""
    order = list(range(len(lines)))
    if lines[-1][0] == "^":
        order = [*order[:-1], *range(int(lines[-1][1:]) - 1, len(lines) - 1)]
    log, held = [], False
    for at in order:
        if held:
            held = False
        elif lines[at][0] == "?":
            held = not eval(lines[at][1:], {}, values)
            log.append((at + 1, "", int(not held)))
        else:
            name, rule = lines[at].split("=")
            values[name] = eval(rule, {}, values) % 7
            log.append((at + 1, name, values[name]))
    return log


@pytest.mark.slow
@pytest.mark.parametrize("level", TASK.generator.levels)
def test_executions_and_answers_are_those_of_another_interpreter(level: int) -> None:
    for seed in range(10):
        problem = TASK.problem(Key(seed, "oracle"), level=level)
        values, lines, asked = told(problem)
        log = run(values, lines)
        assert len(log) == level
        assert [(event.line, event.writes, event.value) for event in execute(problem.spec).events] == log
        right = [
            a + b
            for a, b in itertools.product("0123456789", repeat=2)
            if TASK.checker.check(problem.spec, a + b).status == "ok"
        ]
        assert right == ["".join(str(values[name]) for name in asked)]


@pytest.mark.slow
@pytest.mark.parametrize("level", [6, 9, 12])
def test_the_needed_lines_alone_give_the_answer_and_others_do_not_matter(level: int) -> None:
    """Replayed by Python; the values of executed lines that are not needed are replaced by any."""
    draw, left_out = random.Random(level), 0
    for seed in range(30):
        problem = TASK.problem(Key(seed, "slice"), level=level)
        values, lines, asked = told(problem)
        start = dict(values)
        run(values, lines)
        found = execute(problem.spec)
        needed = found.needed(problem.spec["asked"])
        for place, event in enumerate(found.events):
            if not event.writes:
                if place in needed:
                    assert eval(lines[event.line - 1][1:], {}, start) == bool(event.value)
            elif place in needed:
                start[event.writes] = eval(lines[event.line - 1].split("=")[1], {}, start) % 7
                assert start[event.writes] == event.value
            else:
                start[event.writes] = draw.randrange(7)
                left_out += 1
        assert [start[name] for name in asked] == [values[name] for name in asked]
    assert left_out > 30


def test_every_order_of_true_steps_is_verified_by_what_was_traced_before() -> None:
    """All subsets of the events of a program, in their order: true is exactly what has all of its needs before it."""
    for seed in range(4):
        problem = TASK.problem(Key(seed, "subsets"), level=6)
        found = execute(problem.spec)
        texts = [event.text for event in found.events]
        if len(set(texts)) < len(texts):  # which of two alike is meant, is tested below
            continue
        for chosen in itertools.product([False, True], repeat=6):
            places = [place for place in range(6) if chosen[place]]
            chain = TASK.chain(problem, ",".join(texts[place] for place in places) + ",#1")
            assert chain is not None
            traced: set[int] = set()
            for place, step in zip(places, chain.steps, strict=True):
                true = found.events[place].needs <= traced
                assert (step.verdict != "wrong") == true
                traced |= {place} if true else set()


def test_of_two_executions_that_are_alike_either_may_be_meant() -> None:
    """Line 1 gives a 3 twice. The second b depends on the second a, and on nothing of the first time."""
    spec = {"start": "0300", "lines": ["a=d+3", "b=a*2", "c=b-1", "^1"], "asked": "bc"}
    assert read("1d0+3=a3,2a3*2=b6,3b6-1=c5#65", spec) == ("vvv", "faithful")
    assert read("1d0+3=a3,2a3*2=b6,3b6-1=c5,1d0+3=a3,2a3*2=b6,3b6-1=c5#65", spec) == ("uuuvvv", "faithful")
    assert read("1d0+3=a3,1d0+3=a3,1d0+3=a3#65", spec) == ("uvw", "shortcut")
