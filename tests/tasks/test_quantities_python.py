"""Programs whose every step is run: steps by hand, hostile programs, and a second reading of plain ones."""

from __future__ import annotations

import dataclasses
import itertools
import json
import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.rng import Key
from assay.sandbox import Execution, Ran, opened
from assay.tasks import python_steps, task
from assay.tasks.python_steps import outcomes
from assay.tasks.python_sums import Unread, held
from assay.types import Problem

pytestmark = pytest.mark.external("sandbox")

TASK = task("quantities-python")
SPEC = {"facts": ["d=b*2", "b=a+c", "a=3", "e=c-a", "c=5"], "asked": "bd"}
# modulo 7: b = 3 + 5 = 1, d = 1 * 2 = 2, e = 5 - 3 = 2


def posed(spec: dict = SPEC, wording: str = "compact") -> Problem:
    return TASK.pose(spec, level=3, wording=wording)  # type: ignore[arg-type]


def read(text: str, wording: str = "compact") -> tuple[str, str, str]:
    """The first letters of the verdicts on the steps, the ending, and the verdict on the answer."""
    problem = posed(wording=wording)
    found = TASK.chain(problem, text)
    assert found is not None
    return "".join(step.verdict[0] for step in found.steps), found.ending, TASK.verify(problem, text).status


# Steps and answers by hand


@pytest.mark.parametrize(
    ("text", "verdicts", "ending", "status"),
    [
        ("a=3,c=5,b=(a+c)%7,d=(b*2)%7#bd", "vvvv", "faithful", "ok"),
        ("b=(a+c)%7,a=3,c=5,b=(a+c)%7,d=b*2#b, d", "wvvvv", "faithful", "ok"),  # too early, and again in time
        ("a=3,c=5,b=a+c,d=(b*2)%7#bd", "vvvv", "faithful", "fail"),  # 8, not 1
        ("a=3,c=5,e=(c-a)%7,b=(a+c)%7,d=(b*2)%7#bd", "vvuvv", "faithful", "ok"),
        ("a=4,a=3,c=5,b=(a+c)%7,d=b+b#bd", "uvvvv", "faithful", "ok"),  # a is 3 before anybody reads it
        ("b=0,b+=1,d=b*2#bd", "vvv", "faithful", "ok"),
        ("x=2,y=1#yx", "vv", "faithful", "ok"),  # names of one's own
        ("b=1,d=2#db", "vv", "faithful", "fail"),
        ("b=1,d=2,e=9//0,~#bd", "vvww", "faithful", "ok"),
        ("b=1,d=abs(-2)if b else e#bd", "vv", "faithful", "ok"),
        ("b=1,d=2,exit()#bd", "vvw", "faithful", "ok"),
        ("import math,b=1,d=math.comb(2*b|1+1#bd", "uvwu", "shortcut", "fail"),  # a mark cuts a step in two
        ("import math,b=1,d=math.isqrt(4*b)#bd", "vvv", "faithful", "ok"),
        ("b=True,d=2#bd", "vv", "shortcut", "fail"),
        ("b=1,d=2.0#bd", "vv", "shortcut", "fail"),
        ("b=1,d=[2]#bd", "vv", "shortcut", "fail"),
        ("b=1#bd", "v", "shortcut", "fail"),
        ("#bd", "", "shortcut", "fail"),
        ("bd", "", "shortcut", "fail"),
        ("12", "", "none", "fail"),  # numbers that no program holds are no answer
        ("b=1,d=2#12", "vv", "none", "fail"),
        ("b=1,d=2#b", "vv", "none", "fail"),
        ("b=1,d=2", "vv", "none", "fail"),
        ("a=3,e=a,f=1,", "uuu", "none", "fail"),  # a beginning: what the question asks for needs none of it so far
        ("a=3,c=5,b=a+c,", "vvv", "none", "fail"),
    ],
)
def test_steps_that_a_person_can_check(text: str, verdicts: str, ending: str, status: str) -> None:
    assert read(text) == (verdicts, ending, status)


def test_lines_in_natural_wording_are_python_with_words_behind_it() -> None:
    steps = "Let us see.\nbells = (apples + coins) % 7  # too early = wrong\napples = 3  # as told\ncoins = 5\n"
    steps += "bells = (apples + coins) % 7  # both, together\ndrums = 2 * bells\n"
    assert read(f"{steps}Answer: \\boxed{{bells, drums}}", "natural") == ("wvvvv", "faithful", "ok")
    assert read(f"{steps}Answer: \\boxed{{1, 2}}", "natural") == ("wvvvv", "none", "fail")
    assert read(f"{steps}Answer: \\boxed{{drums, bells}}", "natural")[2] == "fail"
    assert read(steps, "natural") == ("wvvvv", "none", "fail")


def test_equal_numbers_are_one_answer_whatever_program_holds_them() -> None:
    texts = ("a=3,c=5,b=(a+c)%7,d=(b*2)%7#bd", "b=1,d=2#bd", "x=2,y=1#yx", "a=3,c=5,b=a+c,d=b*2#bd")
    answers = [TASK.verify(posed(), text).answer for text in texts]
    assert answers == ["b=1,d=2#bd"] * 3 + ["b=8,d=16#bd"]
    assert TASK.checker.check(SPEC, "b=1,d=2#bd").answer == "b=1,d=2#bd"


# Hostile programs


@pytest.mark.slow
@pytest.mark.parametrize(
    ("step", "runs", "goes_on"),
    [
        ("while True: pass", False, False),
        ("a=9**9**9**9", False, False),
        ("import os; os._exit(0)", False, False),
        ("print('x'*10**7)", False, False),
        ("a=[0]*10**10", False, True),
        ("exit()", False, True),
        ("raise KeyboardInterrupt", False, True),
        ("import torch", False, True),
        ("open('/etc/shadow').read()", False, True),
        ("import socket; socket.create_connection(('1.1.1.1',53),1)", False, True),
        ("import os; os.fork()", False, True),
        ("\ud800", False, True),
        ("\x00", False, True),
        ("(" * 150, False, True),
        ("9" * 5000, False, True),  # longer than a step may be
        ("import os; os.close(3)", True, True),
        ("__builtins__=3", True, True),
        ("int=3", True, True),
    ],
)
def test_hostile_steps_fail_and_nobody_else_does(step: str, runs: bool, goes_on: bool) -> None:
    """What stands before such a step has run; what stands behind it has, unless the program has come to its end."""
    programs = [(["b=1", step, "d=b+1"], "bd"), (["b=1", "d=b+c"], "bd")]
    hostile, other = outcomes(programs)
    assert hostile is not None and other is not None
    assert [one.ran for one in hostile.steps] == [True, runs, goes_on]
    assert hostile.values == ((1, 2) if goes_on else (None, None))
    assert [one.ran for one in other.steps] == [True, False] and other.values == (1, None)


FORGED = "import os; os.write(3,b'[0|true|[]|[]|true]\\n[0|[1|2]]\\n[7|[]]\\nnull\\n')".replace("|", ",")


def test_a_program_that_writes_its_own_report_is_told_no_answer() -> None:
    """It deceives itself alone: a line of its own says no more than an assignment of the same numbers would."""
    (forged, honest) = outcomes([([FORGED, "b=4"], "bd"), (["d=5"], "bd")])
    assert forged is not None and honest is not None and honest.values == (None, 5)
    assert forged.values[0] in (1, 4) and len(forged.steps) == 2
    job = python_steps._job([(("b=4",), ("b", "d"))], python_steps.ALONE)
    assert json.loads(job.input) == [False, [[["b=4"], ["b", "d"]]]]


@pytest.mark.slow
def test_what_two_runs_do_not_agree_on_has_failed() -> None:
    (found,) = outcomes([(["import os", "a=int.from_bytes(os.urandom(6))", "c=1"], "ac")])
    assert found is not None and found.values == (None, 1)


def test_a_sandbox_that_is_lost_is_an_error_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "b=1,d=2,e=77#bd"

    class Lost:
        count = 1

        def map(self, runs: Sequence[Execution]) -> list[Ran]:
            return [Ran("lost", detail="gone") for _ in runs]

    with monkeypatch.context() as context:
        context.setattr(python_steps, "opened", Lost)
        verdict = TASK.verify(posed(), text)
        assert (verdict.status, verdict.kind) == ("invalid", "worker_lost")
        assert TASK.chain(posed(), text) is None
    assert read(text) == ("vvu", "faithful", "ok"), "it is not remembered"


# Many programs


def test_plain_programs_share_processes_and_equal_ones_run_once(monkeypatch: pytest.MonkeyPatch) -> None:
    began: list[int] = []
    sandbox = opened()

    class Counting:
        count = sandbox.count

        def map(self, runs: Sequence[Execution]) -> list[Ran]:
            began.append(len(runs))
            return sandbox.map(runs)

    monkeypatch.setattr(python_steps, "opened", Counting)
    programs = [([f"a={n}", "b=a*c", "c=a+1009"], ["c"]) for n in range(40)] * 2
    assert [found and found.values for found in outcomes(programs)] == [(n + 1009,) for n in range(40)] * 2
    assert began == [sandbox.count]
    outcomes(programs)
    assert began == [sandbox.count]


OPERAND = st.sampled_from([*"abcd", "0", "1", "3", "12", "-2", "(a+b)", "(c%d)"])
SUM = st.builds(lambda first, rest: first + "".join(map("".join, rest)), OPERAND,
                st.lists(st.tuples(st.sampled_from(["+", "-", "*", "//", "%"]), OPERAND), max_size=3))  # fmt: skip
STEP = st.builds(lambda name, value: f"{name}={value}", st.sampled_from("abcd"), SUM)
PROGRAM = st.lists(STEP | st.sampled_from(["b=", "a", "1=2", "c=a+*2", "d=c if a else b", "a=b=1"]), max_size=6)


@pytest.mark.slow
@settings(max_examples=20, deadline=None, derandomize=True)
@given(programs=st.lists(PROGRAM, min_size=1, max_size=4))
def test_together_and_alone_programs_come_to_the_same(programs: list[list[str]]) -> None:
    """And what a step comes to depends on nothing that stands behind it."""
    keys = list(dict.fromkeys((tuple(steps), tuple("abcd")) for steps in programs))
    together, alone = python_steps._together(keys), python_steps._alone(keys)
    assert all(alone[key] == found for key, found in together.items())
    for steps, names in keys:
        for size in range(len(steps)):
            (shorter,) = outcomes([(steps[:size], names)])
            whole = alone[steps, names]
            assert shorter is not None and whole is not None and shorter.steps == whole.steps[:size]


def by_python(steps: Sequence[str]) -> dict[str, Any]:
    """What Python makes of steps that were drawn here."""
    namespace: dict[str, Any] = {}
    for step in steps:
        try:
            exec(step, namespace)
        except (NameError, ZeroDivisionError, SyntaxError):
            continue
    return {name: namespace[name] for name in "abcd" if name in namespace}


@settings(max_examples=200, deadline=None, derandomize=True)
@given(steps=PROGRAM)
def test_the_second_reading_and_python_agree(steps: list[str]) -> None:
    try:
        found = held(steps)
    except Unread:
        return
    assert found == by_python(steps)


@pytest.mark.parametrize(
    "step",
    [
        *("a", "a=b=1", "a=1=1", "a=2**3", "a=1/2", "a=b if 0 else 1", "a=1\rb=2", "a=abs", "if=1", "a=01", "a=1_0"),
        *("a=(1", "a=1;b=2", "a+=1", "a=0x1", "a=1 2", "a=", "a==1", "a=not", "a=²", "a=2.0", "a=f(1)", "a=+1"),
        f"a={1 << 64}",
    ],
)
def test_the_second_reading_says_what_it_does_not_understand(step: str) -> None:
    with pytest.raises(Unread):
        held(["b=1", step])


def test_the_second_reading_by_hand() -> None:
    steps = ["a=-7//2", "b=-7%3", "c=7-2-1", "d=2+3*4", "e=(2+3)*4 # 1=1", "f=g", "h=1%0", "i=a*(b-c)//3", "a=9"]
    assert held(steps) == {"a": 9, "b": 2, "c": 4, "d": 14, "e": 20, "i": 2}


@pytest.mark.slow
def test_both_oracles_say_the_same_of_spoilt_solutions() -> None:
    """Steps of worked solutions are left out, exchanged or changed; most of these are wrong, some still right."""
    draw, pairs = random.Random(4), []
    for seed, wording in itertools.product(range(25), ("compact", "natural")):
        problem = TASK.problem(Key(seed, "spoilt"), level=3 + seed % 4, wording=wording)  # type: ignore[arg-type]
        for text in TASK.traces(problem):
            mark = "," if wording == "compact" else "\n"
            steps = text.split(mark)
            at, other = (draw.randrange(len(steps) - 1) for _ in range(2))
            steps[at], steps[other] = steps[other], steps[at]
            exchanged = mark.join(steps)
            left_out = mark.join([*steps[:at], *steps[at + 1 :]])
            pairs += [(problem, text), (problem, exchanged), (problem, left_out), (problem, text.replace("+", "-", 1))]
    assert TASK.checker.verify_many is not None and TASK.checker.second is not None
    first, second = TASK.checker.verify_many(pairs), TASK.checker.second(pairs)
    assert [(v.status, v.answer) for v in first] == [(v.status, v.answer) for v in second]
    right = sum(v.status == "ok" for v in first)
    assert len(pairs) / 4 < right < 0.8 * len(pairs)


def test_the_order_of_the_facts_is_not_identity_and_answers_of_others_are_wrong() -> None:
    turned = dict(SPEC, facts=SPEC["facts"][::-1])
    assert posed(turned).id == posed().id and posed(turned).prompt != posed().prompt
    problems = [TASK.problem(Key(seed, "others"), level=6) for seed in range(40)]
    statuses = [TASK.verify(problems[0], p.solution or "").status for p in problems]
    assert statuses[0] == "ok" and statuses.count("ok") <= 5
    wide = str.maketrans({chr(c): chr(c + 0xFEE0) for c in range(ord("!"), ord("~") + 1)})
    assert TASK.checker.check(SPEC, "b=1,d=2#bd".translate(wide)).status == "fail"


def test_variants_of_somebody_else_have_no_steps() -> None:
    variant = dataclasses.replace(posed(), provenance="evolved")
    assert TASK.chains([(variant, "b=1,d=2#bd"), (posed(), "b=1,d=2#bd")])[0] is None
