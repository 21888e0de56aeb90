"""The world with Python: replies, what is cut, and plays in processes of their own; its questions by other means."""

from __future__ import annotations

import dataclasses
import math
import re
from collections import Counter
from collections.abc import Sequence

import pytest
from talking import said

from assay import check_world
from assay.collect.hosts import HostedPlay, Hosts, ReplyLog
from assay.rng import Key
from assay.sandbox import Limits
from assay.tasks import task
from assay.tasks.interpreter import QUESTIONS
from assay.tasks.worked import turns
from assay.types import Origin
from assay.worlds import Reply, World
from assay.worlds.interpreter import interpreter

TASK = task("interpreter")
uses_the_sandbox = pytest.mark.external("sandbox")


def replies(world: World, *texts: str) -> list[Reply]:
    play = world.start({}, Key(0))
    play.open()
    made = [play.step(world.act("policy", text, waits=True)) for text in texts]
    play.close()
    return made


@uses_the_sandbox
@pytest.mark.slow
def test_it_keeps_the_contract_in_both_wordings() -> None:
    assert TASK.world is not None and TASK.world.apart
    here = dataclasses.replace(TASK, world=dataclasses.replace(TASK.world, apart=False))
    checked = check_world(here, plays=8)
    assert checked.turns > checked.plays and checked.calls > checked.plays


@uses_the_sandbox
@pytest.mark.deep
def test_it_keeps_the_contract_in_processes_of_their_own() -> None:
    assert check_world("interpreter", plays=8).calls > 8


@uses_the_sandbox
@pytest.mark.slow
def test_replies_are_what_was_printed_cut_and_the_last_line_of_an_error() -> None:
    world = interpreter(limits=Limits(seconds=0.5), longest=20)
    told = replies(world, "[x=7]", "[x]", "[print('a'*50)]", "[print(x);1/0]", "[while 1: 1]", "[x]", "nonsense]")
    assert [said(reply) for reply in told[:3]] == ["", "7", "a" * 20 + " [cut]"]
    assert said(told[3]) == "7\nZeroDivisionError: d [cut]"
    assert said(told[4]) == "it took too long. Nothing that was defined is left."
    assert said(told[5]).startswith("NameError") and "[INPUT]" in said(told[6])
    assert [reply.failed for reply in told] == [False] * 3 + [True] * 4
    assert not any(reply.fault for reply in told)


@uses_the_sandbox
@pytest.mark.slow
def test_small_models_read_one_line_and_large_ones_a_block() -> None:
    world = interpreter()
    (reply,) = replies(world, "[print('a\\nb é')]")
    assert reply.ask is not None and world.written(reply.ask) == "a b ?"
    natural = world.spoken("natural")
    (reply,) = replies(natural, "So:\n```python\nprint('a')\nprint('``' + '`output')\n```\n")
    assert reply.ask is not None and natural.written(reply.ask) == "```output\na\n'''output\n```\n"


@uses_the_sandbox
@pytest.mark.slow
@pytest.mark.parametrize("wording", ["compact", "natural"])
@pytest.mark.parametrize("level", TASK.generator.levels)
def test_the_interpreter_gives_the_answer_that_was_found_by_other_means(wording: str, level: int) -> None:
    for seed in range(4):
        problem = TASK.problem(Key(seed), level=level, wording="compact" if wording == "compact" else "natural")
        pieces = turns(problem, TASK)
        assert len(pieces) == 1 + 2 * len(QUESTIONS[level - 1].programs)
        assert [origin == Origin.ENV for _, origin in pieces] == [i % 2 == 1 for i in range(len(pieces))]
        assert TASK.verify(problem, problem.solution or "").status == "ok"


def plainly(prompt: str) -> int:
    """The answer to a question in compact wording, as slowly as it is asked."""
    numbers = list(map(int, re.findall(r"\d+", prompt)))
    match numbers, "digits" in prompt:
        case [base, exponent, modulus], False:
            return pow(base, exponent, modulus)
        case [base, exponent], True if "count" not in prompt:
            return sum(map(int, str(base**exponent)))
        case [limit], False:
            return sum(n for n in range(2, limit) if all(n % k for k in range(2, math.isqrt(n) + 1)))
        case [limit, total], True:
            return sum(sum(map(int, str(n))) == total for n in range(limit))
        case [base, exponent, second, modulus], True:
            return pow(second, sum(map(int, str(base**exponent))), modulus)
    raise AssertionError(prompt)


def problems(level: int, count: int) -> Sequence[tuple[str, str]]:
    asked = [TASK.problem(Key(seed, "numbers"), level=level) for seed in range(count)]
    return [(str(problem.prompt), (problem.solution or "").rpartition("#")[2]) for problem in asked]


@pytest.mark.parametrize("level", TASK.generator.levels)
def test_answers_are_those_of_plain_arithmetic(level: int) -> None:
    for prompt, answer in problems(level, 15):
        assert answer == str(plainly(prompt)), prompt


@pytest.mark.slow
@pytest.mark.parametrize("level", TASK.generator.levels)
def test_a_blind_guess_is_right_in_less_than_one_of_twenty(level: int) -> None:
    """A constant, and a number of the prompt."""
    asked = problems(level, 400)
    assert Counter(answer for _, answer in asked).most_common(1)[0][1] / 400 < 0.05
    assert sum(answer in re.findall(r"\d+", prompt) for prompt, answer in asked) / 400 < 0.05


@uses_the_sandbox
@pytest.mark.slow
def test_a_play_in_a_process_of_its_own_keeps_its_state_and_a_lost_process_costs_none() -> None:
    hosts = Hosts(1, seconds=60.0)
    assert TASK.world is not None
    problem = TASK.problem(Key(0), level=1)
    play = HostedPlay(hosts, ReplyLog(None), "interpreter", problem.spec, Key(0))
    play.open()
    try:
        assert said(play.step(TASK.world.act("policy", "[x=41]", waits=True))) == ""
        assert said(play.step(TASK.world.act("policy", "[x+1]", waits=True))) == "42"
        again = HostedPlay(hosts, ReplyLog(None), "interpreter", problem.spec, Key(0), play.acts[:1], alone=True)
        assert said(again.step(TASK.world.act("policy", "[x+2]", waits=True))) == "43"
    finally:
        hosts.close()
