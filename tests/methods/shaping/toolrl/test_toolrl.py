"""Tool calls: what is read, what it is worth by hand, and hacks that are not paid."""

from __future__ import annotations

import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import episode

from assay.methods.shaping.toolrl.match import CallMatch
from assay.part import bind
from assay.rng import Key
from assay.tasks import task
from assay.types import Problem, Verdict
from assay.verifiers.calls import Call, equal, jaccard, matched, read_calls

WAKE, MAIL = Call("wake", {"at": 7}), Call("mail", {"to": "bob", "at": 5})
GOLD = [WAKE, MAIL]  # s_max = 1 + (1 + 1) + (1 + 2) = 6


def text(*calls: Call) -> str:
    return json.dumps([{"name": call.name, "arguments": call.arguments} for call in calls])


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([MAIL, WAKE], 3.0),  # the order of calls does not matter
        ([], -3.0),
        ([WAKE], 0.0 - 3.0 + 6 * (1 / 2 + 2) / 6 + 0.0),  # J(names) 1/2, keys 1, one value
        ([WAKE, Call("mail", {"to": "eva", "at": 5})], 6 * (1 + 2 + 2) / 6 - 3),  # one value is wrong
        ([WAKE, Call("mail", {"to": "bob"})], 6 * (1 + 2 + 1 / 2 + 1) / 6 - 3),  # one key is missing
        ([WAKE, Call("mail", {"to": "bob", "at": "5"})], 6 * (1 + 2 + 2) / 6 - 3),  # a text is no number
        ([WAKE, Call("mail", {"to": "bob", "at": 5.0})], 6 * (1 + 2 + 2) / 6 - 3),
        ([Call("wake", {"at": True}), MAIL], 6 * (1 + 1 + 3) / 6 - 3),
        ([WAKE, MAIL, WAKE], 6 * (2 / 3 + 2 + 3) / 6 - 3),  # a call too many
        ([Call("book", {})], -3.0),
    ],
)
def test_the_match_by_hand(found: list[Call], expected: float) -> None:
    assert matched(GOLD, found) == pytest.approx(expected)
    assert read_calls(text(*found)) == found


def test_the_multiset_index_by_hand() -> None:
    assert jaccard("aab", "abb") == 2 / 4 and jaccard("", "") == 1.0 and jaccard("a", "") == 0.0


CALL = st.builds(
    Call,
    st.sampled_from(("wake", "mail", "book")),
    st.dictionaries(st.sampled_from(("at", "to", "for")), st.integers(0, 3), max_size=3),
)


@given(gold=st.lists(CALL, min_size=1, max_size=4), found=st.lists(CALL, max_size=5))
def test_only_the_calls_themselves_have_the_best_match(gold: list[Call], found: list[Call]) -> None:
    score = matched(gold, found)
    assert -3.0 <= score <= 3.0 and matched(gold, gold) == 3.0
    assert equal(gold, found) == (score == pytest.approx(3.0, abs=1e-9))


HACKS = [
    "",
    "[]",
    "[[]]",
    "null",
    "wake",
    "wake(at=7)",
    "wake(at=7);mail(to=bob,at=5);",
    "wake(at=7);mail(to=bob,at=5);wake(at=7)",
    "wake(at=7);mail(to=bob,at=5);mail(to=bob,at=6)",
    "wake(at=07);mail(to=bob,at=5)",
    "wake(at=6,at=7);mail(to=bob,at=5)",
    "wake(at=7);mail(to=bob,at=5,at=5)",
    "WAKE(at=7);mail(to=bob,at=5)",
    "wake(at=７);mail(to=bob,at=5)",
    "wake(at=7);mail(to=bоb,at=5)",  # a Cyrillic o
    "wake(at=7);mail(to=bob,at=5)\x00",
    "wake(at=7)\u202e;mail(to=bob,at=5)",
    ";".join(["wake(at=7);mail(to=bob,at=5)"] * 51),
    text(WAKE, MAIL) + text(WAKE, MAIL),
    text(WAKE, MAIL)[:-1] + ",]",
    text(WAKE, MAIL).replace('"', "'"),
    text(WAKE, MAIL).replace('"at": 7', '"at": 6, "at": 7'),
    text(WAKE, MAIL).replace("7", "NaN"),
    text(WAKE, MAIL).replace("7", "1e999"),
    text(WAKE, MAIL).replace("7", "7.0"),
    text(WAKE, MAIL).replace('"name"', '"tool"'),
    text(WAKE, MAIL).replace('"arguments"', '"arguments": {}, "arguments"'),
    '[{"name": "wake", "arguments": {"at": 7}, "extra": 1}]',
    "[" * 100_000,
    '[{"name": "' + "x" * 10_000_000 + '", "arguments": {}}]',
    "9" * 10_000,
]


@pytest.mark.parametrize("answer", HACKS, ids=range(len(HACKS)))
def test_hacks_are_no_right_answers(answer: str) -> None:
    spec = {"calls": [{"name": c.name, "arguments": c.arguments} for c in GOLD], "asked": []}
    verdict = task("calls").checker.check(spec, answer)
    assert verdict.status == "fail" and (verdict.scores["calls"] or 0) < 3.0


def test_the_task_reads_both_notations_of_its_solution() -> None:
    calls = task("calls")
    for level in calls.generator.levels:
        problem = calls.problem(Key(level), level=level)
        gold = [Call(c["name"], c["arguments"]) for c in problem.spec["calls"]]
        assert calls.verify(problem, problem.solution or "").scores == {"calls": 3.0}
        natural = calls.pose(problem.spec, level=level, wording="natural")
        assert calls.verify(natural, f"\\boxed{{{text(*gold)}}}").status == "ok"
        assert calls.verify(natural, text(*gold)).kind == "format"


def test_the_reward_is_the_score_of_an_answer_that_ended() -> None:
    scored = dataclasses.replace(Verdict.fail("wrong"), scores={"calls": 1.5})
    base = dataclasses.replace(episode([1]), verdict=scored)
    request = dataclasses.replace(base.request, problem=Problem("calls", "?", {}, "?"))
    answers = [dataclasses.replace(base, request=request, finish=finish) for finish in ("stop", "length")]
    answers += [dataclasses.replace(base, verdict=verdict) for verdict in (Verdict.ok(), Verdict.fail("wrong"))]
    assert [reward.value for reward in bind(CallMatch())(answers)] == [1.5, -3.0, 3.0, -3.0]
