"""Answers that are written step by step: what follows a step, and how long the whole answer may be."""

from __future__ import annotations

import dataclasses

import pytest
from talking import REPLY, TALKING
from tiny import END, LETTERS, TINY, Letters, episode, models_of, policy, register, segment

from assay.ask import FirstSteps, Sampling, first_requests
from assay.collect import generate
from assay.collect.steps import again_from, limit_of, next_steps, nodes_of
from assay.memory import Memory
from assay.part import bind
from assay.rng import Key
from assay.tasks.task import Task
from assay.types import Episode, Origin


def hinted() -> Episode:
    """An answer that was given two tokens, and of which two steps of two tokens were sampled."""
    told = segment([1, 1], origin=Origin.INJECTED)
    return episode([told, segment([2, 2], node="a"), segment([3, 3], node="b")], reward=1.0)


def test_what_was_given_is_not_part_of_the_limit() -> None:
    assert nodes_of([hinted()]) == {"a", "b"} and limit_of(hinted(), {"a", "b"}, 8) == 10
    assert limit_of(episode([segment([2], node="a")]), {"a"}, 8) == 8


def test_a_step_pauses_unless_it_reaches_the_limit() -> None:
    asked = next_steps(hinted(), 2, 3, 10, first=4, round=2)
    assert [(r.sample, r.given, r.max_new, r.pauses, r.parent, r.fork) for r in asked] == [
        (4, 6, 3, True, "b", 2),
        (5, 6, 3, True, "b", 2),
    ]
    (last,) = next_steps(hinted(), 1, 4, 10, first=0, round=2)
    assert last.max_new == 4 and not last.pauses


def test_an_answer_may_be_cut_at_the_end_of_any_step() -> None:
    request = again_from(hinted(), 2, 3, 10, sample=7, round=3)
    assert (request.given, request.parent, request.fork, request.max_new, request.pauses) == (4, "a", 2, 3, True)
    first = again_from(episode([segment([2], node="a")]), 0, 3, 8, sample=7, round=3)
    assert (first.given, first.parent, first.fork, first.sample, first.round) == (0, "", 0, 7, 3)


def test_a_step_that_ends_at_a_mark_has_what_is_left_of_the_limit() -> None:
    marked = hinted()
    marked = dataclasses.replace(marked, request=dataclasses.replace(marked.request, marks=("c",), stop=("c",)))
    (asked,) = next_steps(marked, 1, 3, 10, first=0, round=2)
    assert (asked.max_new, asked.pauses, asked.marks, asked.stop) == (4, True, ("c",), ("c",))


def first(monkeypatch: pytest.MonkeyPatch, task: Task, marks: str) -> list[Episode]:
    """First steps of forty answers to one problem of the task."""
    register(monkeypatch, task)
    asked = first_requests(
        [task.problem(Key(0), level=1)], Memory(0), first=0, samples=1, sampling=Sampling(9), codec=Letters()
    )
    asked = bind(FirstSteps(width=40, marks=marks))(asked, memory=Memory(0))
    return generate(models_of(policy("fp32", decode=Letters().decode)), asked, Key(1), Letters())


@pytest.mark.slow
def test_a_step_pauses_at_a_mark_and_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not at the limit: what reaches it is cut. An answer that ends in the same step has ended."""
    found = first(monkeypatch, TINY, "cd")
    assert {e.finish for e in found} == {"pause", "stop"} or {e.finish for e in found} == {"pause", "stop", "length"}
    for e in found:
        letters = ["." if i == END else LETTERS[i - 1] for i in e.stream("ids").tolist()]
        assert (e.finish == "pause") == (letters[-1] in "cd") and not set(letters[:-1]) & set("cd")
        assert (e.finish == "stop") == (letters[-1] == ".") and e.request.pauses
        assert e.finish != "length" or len(letters) == 9


def test_an_environment_replies_before_a_step_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """After b it asks back, and the answer goes on; after a mark of the step it waits."""
    for e in first(monkeypatch, TALKING, "a"):
        last = int(e.segments[-1].ids[-1])
        replied = e.segments[-1].origin[-1] == Origin.ENV
        assert e.finish != "pause" or replied or LETTERS[last - 1] == "a"
        assert not replied or Letters().decode(e.segments[-1].ids.tolist()) == REPLY
