"""Tasks with a tool, against readers of the transcript alone; blind guesses; worked solutions cut by who wrote what."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from talking import replies, said
from test_tasks import SPOKEN, TWO_TURNS
from test_tasks_oracles import accepted, answer_of, damaged, problems

from assay.ask import Demonstrate, first_requests
from assay.ask import Sampling as Settings
from assay.ask.demonstrate import demonstrate, worked
from assay.collect import generate
from assay.credit import pack
from assay.errors import DataError
from assay.memory import Memory
from assay.models import Models
from assay.policy import character_tokenizer
from assay.rng import Key
from assay.tasks import ALPHABET, TASKS, task
from assay.tasks.worked import turns
from assay.types import Origin, Problem, Row

LIMIT = 0.05
CODEC = character_tokenizer(ALPHABET)
OWN_TESTS = (
    TWO_TURNS | SPOKEN | {"interpreter", "sql-tool", "equivalence", "search-python-small"}
)  # of other calls: test_interpreter_world.py, test_database_world.py, test_equivalence.py, test_search_python.py
OWN_TESTS |= {name for name in TASKS if TASKS[name].checker.externals}  # test_prover_worlds.py
OWN_TESTS |= {"wish-model"}  # several seats write its answers: test_wishes.py
TOOLS = [name for name in TASKS if TASKS[name].world is not None and name not in OWN_TESTS]


@pytest.mark.parametrize("name", ["lookup-tool", "lookup-faulty", "lookup-strict"])
@pytest.mark.parametrize("level", [2, 5, 8])
def test_a_look_up_transcript_follows_the_pointers_of_the_prompt(name: str, level: int) -> None:
    for problem in problems(name, level, 40):
        place, fields = str(problem.prompt)[2], str(problem.prompt)[3:]
        calls = re.findall(r"\[(.)(.)\](.)", (problem.solution or "").partition("#")[0])
        good = [call for call in calls if call[2] != "!"]
        assert [field for _, field, _ in good] == list(fields)
        for key, field, value in good:
            assert key == place and value == problem.spec["store"][field]["abcdefghijklmnopqrstuvwxyz".index(key)]
            place = value
        assert [letter for letter in "abcdefghijklmnopqrstuvwxyz" if accepted(problem, letter)] == [place]
        assert not any(accepted(problem, text) for text in (place * 2, place.upper(), "", "ab", f"{place}!"))


@pytest.mark.parametrize(("name", "rate"), [("lookup-tool", 0.1), ("lookup-faulty", 0.2)])
def test_so_many_replies_are_errors_and_the_same_ones_every_time(name: str, rate: float) -> None:
    failed = []
    for problem in problems(name, 4, 300):
        answers = replies(TASKS[name], problem.spec, *["[aw]"] * 10)
        assert answers == replies(TASKS[name], problem.spec, *["[aw]"] * 10)
        assert set(map(said, answers)) - {"!"} <= {problem.spec["store"]["w"][0]}
        assert [reply.failed for reply in answers] == [said(reply) == "!" for reply in answers]
        failed += [reply.failed for reply in answers]
    assert abs(np.mean(failed) - rate) < 4 * np.sqrt(rate * (1 - rate) / 3000)


def test_a_strict_store_fails_where_the_asker_does_and_only_there() -> None:
    strict = TASKS["lookup-strict"]
    for problem in problems("lookup-strict", 4, 50):
        first, *_, last = problem.spec["store"]["w"]
        for before in ([], ["[aW]"], ["[aw]", "q[bY]"], ["nonsense]", "]"]):
            assert said(replies(strict, problem.spec, *before, "[aw]")[-1]) == first
            assert said(replies(strict, problem.spec, *before, "[zw]")[-1]) == last
            for slip in ("[aW]", "[Aw]", "[wa ]", "[a]", "[aa]", "[aww]", "(aw]", "]"):
                assert replies(strict, problem.spec, *before, slip)[-1].failed


def test_half_the_steps_of_a_strict_solution_ask_in_a_capital_first() -> None:
    slipped = []
    for problem in problems("lookup-strict", 4, 300):
        calls = re.findall(r"\[(.)(.)\](.)", (problem.solution or "").partition("#")[0])
        failed = [reply == "!" for *_, reply in calls]
        assert failed == [field.isupper() for _, field, _ in calls] and not failed[-1]
        for slip, repeated in zip(calls, calls[1:]):
            if slip[2] == "!":
                assert (slip[0], slip[1].lower()) == repeated[:2] and repeated[2] != "!"
        slipped.append(sum(failed))
    assert abs(np.mean(slipped) / 4 - 0.5) < 4 * np.sqrt(0.25 / 1200)
    assert set(slipped) == {0, 1, 2, 3, 4}


def test_right_answers_to_one_strict_question_differ_in_failed_calls() -> None:
    """What `rstar2` needs: its penalty of an answer is the share of failed replies."""
    for problem in problems("lookup-strict", 3, 20):
        shares = set()
        for slips in range(8):
            turns, place, heard = [], str(problem.prompt)[2], ["!"]
            for step, field in enumerate(str(problem.prompt)[3:]):
                for asked in ([field.upper()] if slips >> step & 1 else []) + [field]:
                    turns.append(f"[{place}{asked}]")
                    heard = list(map(said, replies(TASKS["lookup-strict"], problem.spec, *turns)))
                place = heard[-1]
            whole = "".join(turn + reply for turn, reply in zip(turns, heard, strict=True))
            assert task("lookup-strict").verify(problem, f"{whole}#{place}").status == "ok"
            shares.add(heard.count("!") / len(heard))
        assert shares == {0, 1 / 4, 2 / 5, 1 / 2}


@pytest.mark.parametrize("level", [2, 5, 8])
def test_a_calculation_is_that_of_the_nested_expression(level: int) -> None:
    for seed, problem in enumerate(problems("calculator", level, 40)):
        start, *steps = re.findall(r"[-+*]?\d+", str(problem.prompt)[2:])
        nested = start
        for step in steps:
            nested = f"({nested}){step}"
        assert answer_of(problem) == str(eval(nested)) and accepted(problem, f"0{eval(nested)}")
        for call, value in re.findall(r"\[(.*?)\](\d+)", (problem.solution or "").partition("#")[0]):
            assert eval(call) == int(value) <= 9999
        for text in damaged(answer_of(problem), "0123456789", 10, seed):
            assert accepted(problem, text) == (text.isdigit() and int(text) == eval(nested))


@pytest.mark.slow
@pytest.mark.parametrize("name", TOOLS)
@settings(max_examples=100, deadline=None, derandomize=True)
@given(text=st.text(max_size=30) | st.text("[]0123456789+-*awxyz!", max_size=20))
def test_a_world_replies_to_any_text(name: str, text: str) -> None:
    for problem in problems(name, 2, 3):
        for turn in (text, text + "]", "[" * 10_000 + text + "]"):
            (reply,) = replies(task(name), problem.spec, turn)
            assert set(said(reply)) <= set(ALPHABET) and (reply.ask is not None or reply.end)


@pytest.mark.parametrize(
    ("name", "level"), [(name, level) for name in TOOLS for level in (2, 4, 8) if level in TASKS[name].generator.levels]
)
def test_answers_are_not_guessed_without_the_tool(name: str, level: int) -> None:
    """A constant, and what stands in the prompt."""
    batch = problems(name, level, 400)
    answers = [answer_of(problem) for problem in batch]
    assert max(answers.count(answer) for answer in set(answers)) / 400 < LIMIT + 0.02  # the most frequent of 26
    assert sum(answer in re.findall(r"[0-9]+", str(p.prompt)) for p, answer in zip(batch, answers)) / 400 < LIMIT
    assert sum(str(p.prompt)[2] == answer for p, answer in zip(batch, answers)) / 400 < 2 * LIMIT


@pytest.mark.parametrize("name", TOOLS)
def test_a_demonstration_imitates_the_calls_and_not_the_replies(name: str) -> None:
    for problem in problems(name, 4, 20):
        requests = first_requests([problem], Memory(0), first=0, samples=1, sampling=Settings(max_new=60), codec=CODEC)
        (request,) = demonstrate(requests, Memory(0), codec=CODEC)
        (episode,) = generate(Models({}, {}), [request], Key(0), CODEC)
        assert episode.text == problem.solution and episode.finish == "stop"
        batch = pack([Row(episode)], injected={"policy"})
        told = CODEC.decode(batch.ids[batch.mask])
        heard = [CODEC.decode(s.ids) for s in episode.segments if s.origin[0] == Origin.ENV]
        assert len(heard) == told.count("]") >= 4
        assert not batch.mask[batch.origin == Origin.ENV].any() and batch.mask[batch.origin == Origin.INJECTED].all()
        assert told == re.sub(r"\][^\[#]*", "]", problem.solution or "")


def test_without_a_world_a_demonstration_is_one_piece() -> None:
    (problem,) = problems("mod-chain", 3, 1)
    assert turns(problem, task("mod-chain")) == [(problem.solution, Origin.INJECTED)]
    (segment,) = worked(problem, CODEC)
    assert segment.ids[-1] in CODEC.end_ids and (segment.origin == Origin.INJECTED).all()
    assert Demonstrate() == Demonstrate()


def test_a_worked_solution_that_the_world_would_not_give_is_refused() -> None:
    import dataclasses

    problem: Problem = problems("calculator", 2, 1)[0]
    broken = dataclasses.replace(problem, solution="[2+2]5#5")
    with pytest.raises(DataError, match=r"goes on with '5#5'.*replies '4'"):
        worked(broken, CODEC)
