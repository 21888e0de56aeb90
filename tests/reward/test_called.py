"""Rewards of calls and of the form of turns: what was called, what was read, and what replies cannot win."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from in_turns import CODEC, of, worded
from tiny import register

from assay.part import bind
from assay.reward import Called, TurnForm
from assay.reward.called import calls_in
from assay.source import Pool, Share
from assay.types import Episode, Origin, Problem, Request

SEARCH = ("search", "s")


def value(part: Any, episode: Episode) -> float:
    (reward,) = bind(part, codec=CODEC)([episode])
    return reward.value


def test_calls_are_those_that_the_world_reads() -> None:
    made = calls_in(worded("[o Abc]", "b X", "so [s b X][s]", "!", "#Y", failed=(1,)), CODEC)
    first, failed = made[0]
    assert ([(c.name, dict(c.arguments)) for c in first], failed) == (
        [("o", {"title": "Abc"})],
        False,
    )
    assert made[1][1] and len(made) == 2
    assert calls_in(worded("#4", name="countdown"), CODEC) == []


def test_a_call_of_the_tool_that_told_something_is_paid_once() -> None:
    part = Called(tools=SEARCH, right=0.5, wrong=-0.25)
    assert value(part, worded("[s b X]", "Y Z", "#Y")) == 0.5
    assert value(part, worded("[s b X]", "Y Z", "[s b X]", "Y Z", "#Y")) == 0.5
    assert value(part, worded("[s b X]", "!", "#Y", failed=(0,))) == -0.25
    assert value(part, worded("[o X]", "b Y", "#Y")) == -0.25 and value(part, worded("#Y")) == -0.25
    assert value(Called(), worded("[o X]", "b Y", "#Y")) == 0.5 and value(Called(), worded("#Y")) == 0.0
    assert value(part, worded("[s b X]")) == -0.25, "the call that a limit left without a reply"


def test_a_reply_that_looks_like_a_call_is_none() -> None:
    assert value(Called(tools=SEARCH), worded("[o X]", "[s b X]", "#Y")) == 0.0


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        (("[o X]", "b Y", "#Y"), True),
        (("#Y",), True),
        (("[o X]", "b Y", "[s b X]", "Z", "as said #Y"), True),
        (("[o X]", "#b #Y", "#Y"), True),  # what a reply says does not count
        (("[o X]", "b Y", "Y"), False),  # no mark
        (("[o X]", "b Y", "#Y#Y"), False),
        (("#Y[o X]", "b Y", "#Y"), False),  # two marks, in two turns
        (("[o X]", "b Y", "#"), False),
        (("[o X]", "b Y"), False),  # no answer behind the reply
        (("[x X]", "!", "#Y"), False),  # no such tool
    ],
)
def test_the_form_of_turns(turns: tuple[str, ...], expected: bool) -> None:
    assert value(TurnForm(right=1.0, wrong=-2.0), worded(*turns)) == (1.0 if expected else -2.0)


def test_a_cut_answer_and_a_long_one_have_no_form() -> None:
    assert value(TurnForm(), worded("[o X]", "b Y", "#Y", finish="length")) == 0.0
    assert value(TurnForm(longest=2), worded("#one two")) == 1.0
    assert value(TurnForm(longest=2), worded("#one two three")) == 0.0 != value(TurnForm(), worded("#one two three"))


@settings(max_examples=50, deadline=None)
@given(texts=st.lists(st.text(alphabet="[]#so X!", max_size=8), min_size=1, max_size=5))
def test_whatever_is_written_has_a_form_or_none_and_replies_do_not_decide(texts: list[str]) -> None:
    turns = [text or "X" for text in texts]
    form = value(TurnForm(), worded(*turns))
    others = [text if i % 2 == 0 else "#" * len(text) for i, text in enumerate(turns)]
    assert form == value(TurnForm(), worded(*others)) and form in (0.0, 1.0)
    calls = value(Called(tools=SEARCH), worded(*turns))
    assert calls == value(Called(tools=SEARCH), worded(*others))


def test_letters_have_a_form_of_one_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """A task without steps and without a world: an answer alone."""
    register(monkeypatch)
    request = Request(Problem("tiny", "a", {"letter": "a"}, "a", solution="a"), CODEC.render("a"), "g", 8)
    plain = Episode(request, (of("ab", Origin.POLICY),), "stop", text="ab")
    marked = Episode(request, (of("#a", Origin.POLICY),), "stop", text="#a")
    assert [value(TurnForm(), one) for one in (plain, marked)] == [1.0, 0.0]


def test_a_task_without_the_tool_is_refused() -> None:
    part = Called(tools=SEARCH)
    assert part.unfit(Pool((Share("search"), Share("search-small")))) is None
    refused = part.unfit(Pool((Share("interpreter"),)))
    assert refused is not None and "'search' or 's'" in refused and "has python" in refused
    assert Called().unfit(Pool((Share("countdown"),))) is None
