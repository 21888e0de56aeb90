"""Programs of the stack machine against a second machine; blind guesses; posing as a task."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_tasks_oracles import accepted, answer_of, problems

from assay.errors import ConfigError
from assay.rng import Key
from assay.tasks import TASKS, posing_of, task
from assay.tasks.dsl import INPUT, INSTRUCTIONS, LONGEST, output, trace

LIMIT = 0.05
KINDS = ("dsl-deduction", "dsl-abduction", "dsl-induction")
NAMES = "".join(INSTRUCTIONS)


def machine(program: str, digits: str) -> str | None:
    """By text: the stack is a string whose end is its top."""
    for name in program:
        if len(digits) < {"d": 1, "p": 1, "i": 1, "n": 1, "r": 3}.get(name, 2):
            return None
        digits = step(name, digits)
    return digits or None


def step(name: str, digits: str) -> str:
    rest, below, top = digits[:-2], digits[-2:-1] or "0", digits[-1]
    results = {
        "+": rest + str(int(below) + int(top))[-1],
        "-": rest + str(10 + int(below) - int(top))[-1],
        "*": rest + str(int(below) * int(top))[-1],
        "m": rest + max(below, top),
        "d": digits + top,
        "p": digits[:-1],
        "i": digits[:-1] + "1234567890"[int(top)],
        "n": digits[:-1] + "9876543210"[int(top)],
        "s": rest + top + below,
        "r": digits[:-3] + below + top + digits[-3:-2],
    }
    return results[name]


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(program=st.text(NAMES, max_size=12), digits=st.text("0123456789", min_size=3, max_size=3))
def test_the_machine_is_total_and_takes_one_step_an_instruction(program: str, digits: str) -> None:
    found = trace(program, digits)
    assert output(program, digits) == machine(program, digits)
    assert found is None or (len(found) == len(program) and all(len(s) <= INPUT + len(program) for s in found))


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("level", [2, 4, 6])
def test_exactly_what_the_machine_confirms_is_right(name: str, level: int) -> None:
    draw = random.Random(level)
    for problem in problems(name, level, 12):
        body = str(problem.prompt)[2:]
        if name == "dsl-deduction":
            program, digits = body.split(" ")
            tried = [answer_of(problem), digits, *(f"{n:0{len(answer_of(problem))}d}" for n in range(0, 1000, 7))]
            right = {machine(program, digits)}
        elif name == "dsl-abduction":
            program, wanted = body.split(">")
            tried = [f"{n:03d}" for n in range(1000)]
            right = {t for t in tried if machine(program, t) == wanted}
        else:
            pairs = problem.spec["pairs"]
            assert body == " ".join([*(f"{a}>{b}" for a, b in pairs[:3]), problem.spec["message"]]).rstrip()
            programs = ["".join(draw.choice(NAMES) for _ in range(draw.randrange(1, 5))) for _ in range(300)]
            tried = [answer_of(problem), *programs]
            right = {t for t in tried if all(machine(t, a) == b for a, b in pairs)}
        assert answer_of(problem) in right
        for text in tried:
            assert accepted(problem, text) == (text in right), (problem.prompt, text)


@pytest.mark.slow
@pytest.mark.parametrize("level", range(1, 7))
def test_what_comes_out_and_goes_in_is_not_guessed(level: int) -> None:
    """Any constant; the input itself; and for abduction a random input."""
    batch = problems("dsl-deduction", level, 400)
    assert max(Counter(map(answer_of, batch)).values()) / 400 < LIMIT
    assert not any(accepted(p, p.spec["input"]) for p in batch)
    backwards = problems("dsl-abduction", level, 150)
    shares = [sum(accepted(p, f"{n:03d}") for n in range(3, 1000, 11)) / 91 for p in backwards]
    assert sum(shares) / 150 < LIMIT
    constants = [sum(accepted(p, f"{n:03d}") for p in backwards) / 150 for n in range(0, 1000, 37)]
    assert max(constants) < LIMIT + 0.04  # of 28 constants in 150 problems


@pytest.mark.slow
@pytest.mark.parametrize("level", [2, 3, 6])
def test_no_constant_program_is_right_often(level: int) -> None:
    batch = problems("dsl-induction", level, 250)
    likely = Counter(answer_of(p) for p in batch).most_common(25)
    programs = ["".join(p) for n in (1, 2) for p in itertools.product(NAMES, repeat=n)]
    for program in {*programs, *(p for p, _ in likely)}:
        assert sum(accepted(p, program) for p in batch) / 250 < LIMIT + 0.03


@pytest.mark.parametrize("name", KINDS)
def test_what_is_posed_is_an_instance_and_its_own_solution_right(name: str) -> None:
    posing, posed = posing_of(TASKS[name]), task(f"pose:{name}")
    assert posed.name == f"pose:{name}"
    for seed, level in itertools.product(range(10), (2, 4)):
        problem = posed.problem(Key(seed), level=level)
        assert posed.verify(problem, problem.solution or "").status == "ok"
        spec = posing.read(problem.solution or "", problem.spec["shown"])
        assert spec is not None and posing.write(spec) == problem.solution and posing.level(spec) <= LONGEST
        found = task(name).pose(spec, level=posing.level(spec))
        assert task(name).verify(found, found.solution or "").status == "ok"
        assert "\\boxed{" in posed.wordings.natural(problem.spec)
    assert (
        task(name).verify(task(name).pose(posing.seed, level=1), task(name).wordings.solve(posing.seed).answer).status
        == "ok"
    )


def test_every_second_induction_has_a_message_that_is_true_and_not_the_program() -> None:
    found = Counter()
    for problem in problems("dsl-induction", 4, 200):
        program, said = problem.spec["program"], problem.spec["message"]
        found[bool(said)] += 1
        if said:
            length, _, name = said.split(" ")
            assert int(length) == len(program) and name in program and program not in said
            bare = task("dsl-induction").pose({**problem.spec, "message": ""}, level=4)
            assert problem.prompt == f"{bare.prompt} {said}" and problem.id == bare.id
            assert said in task("dsl-induction").pose(problem.spec, level=4, wording="natural").prompt
    assert 70 < found[True] < 130  # 100 +- 4 deviations of 7


def test_what_is_said_of_an_induction_is_short_and_plain_and_does_not_hold_the_program() -> None:
    inputs = "123 456 789 012 345 678"
    posing = posing_of(TASKS["dsl-induction"])
    assert posing is not None
    for program, message, valid in (
        ("is", "2 with s", True),
        ("is", "first i then s", True),
        ("is", "it is", False),
        ("s", "one s", True),
        ("is", "", False),
        ("is", "a" * 16, True),
        ("is", "a" * 17, False),
        ("is", "123>321", False),
        ("is", "a;b", False),
    ):
        spec = posing.read(f"{inputs};{message}", [{"program": program}])
        assert (spec is not None) == valid, message
        assert spec is None or (spec["message"] == message and [a for a, _ in spec["pairs"]] == inputs.split())
    assert posing.read(inputs, [{"program": "is"}]) is None


@settings(max_examples=200, deadline=None)
@given(text=st.text(max_size=40) | st.text(NAMES + " 0123456789", max_size=30))
@pytest.mark.slow
def test_posing_takes_any_text(text: str) -> None:
    for name in KINDS:
        posed = task(f"pose:{name}")
        problem = posed.problem(Key(1), level=2)
        assert posed.checker.check(problem.spec, text).status in ("ok", "fail")
        assert posed.checker.check(problem.spec, text * 10_000 + "x").status == "fail"


def test_only_tasks_that_can_be_posed_are() -> None:
    with pytest.raises(ConfigError, match="cannot be posed"):
        task("pose:countdown")
