"""Answers that are written step by step: what follows a step, and how long the whole answer may be."""

from __future__ import annotations

from tiny import episode, segment

from assay.collect.steps import again_from, limit_of, next_steps, nodes_of
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
