"""L1: a budget of tokens in the prompt, and what it is worth to keep it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import pytest
import worked
from composed import Signs, asked
from hypothesis import given, settings
from hypothesis import strategies as st
from paid import earned, of_lengths, with_replies
from tiny import END, Letters, episode

from assay.ask.hints import hinted
from assay.lab import papers
from assay.lab.part_card import part_card
from assay.memory import Memory
from assay.methods.shaping.l1.adherence import Adherence
from assay.methods.shaping.l1.budget import EXACTLY, Budget, Limit, budget_of, told
from assay.part import bind
from assay.types import Episode, Request


def limited(tokens: int, most: bool, length: int, right: bool) -> Episode:
    made = episode([1] * length, right=right)
    tag = f"{'at most' if most else 'exactly'} {tokens}"
    return dataclasses.replace(made, request=dataclasses.replace(made.request, tag=tag))


def test_adherence_by_hand() -> None:
    """With the outcome: 1[right] - |n - T| / 10, and 1[right] clip((n - T) / 10 + 1/2, 0, 1)."""
    exact = [limited(6, False, *spec) for spec in [(6, True), (2, True), (9, False)]]
    assert earned(Adherence(unit=10), exact) == pytest.approx([0.0, -0.4, -0.3])
    most = [limited(6, True, *spec) for spec in [(6, True), (1, True), (9, True), (20, True), (9, False)]]
    assert [1 + cost for cost in earned(Adherence(unit=10), most)][:4] == pytest.approx([0.5, 1.0, 0.2, 0.0])
    assert earned(Adherence(unit=10), most)[4] == 0.0
    assert earned(Adherence(unit=10), [episode([1] * 5)]) == [0.0]


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 30), st.integers(0, 40), st.booleans(), st.integers(1, 30))
def test_a_right_answer_never_earns_more_by_missing_its_limit(n: int, length: int, right: bool, unit: int) -> None:
    (on_length,) = earned(Adherence(unit=unit), [limited(n, False, n, right)])
    (beside,) = earned(Adherence(unit=unit), [limited(n, False, length, right)])
    assert beside <= on_length == 0.0
    (longer,) = earned(Adherence(unit=unit), [limited(n, True, length + 1, right)])
    assert longer <= earned(Adherence(unit=unit), [limited(n, True, length, right)])[0] <= 0.0


def budgeted(requests: Sequence[Request], **values: object) -> list[Request]:
    part = Budget(**values)  # type: ignore[arg-type]
    return bind(part, codec=Letters())(requests, memory=Memory(3))


def test_a_group_has_one_budget_and_groups_have_their_own() -> None:
    requests = [e.request for g in range(200) for e in of_lengths((1, True), (2, True), group=str(g))]
    asked = budgeted(requests, low=5, high=9, at_most=0.5)
    limits = [budget_of(request) for request in asked]
    assert limits[::2] == limits[1::2] and None not in limits
    assert {limit.tokens for limit in limits if limit} == {5, 6, 7, 8, 9}
    assert 0.35 < np.mean([limit.most for limit in limits if limit]) < 0.65
    assert not any(limit.most for limit in map(budget_of, budgeted(requests, low=5, high=9)) if limit)
    assert budget_of(requests[0]) is None


def test_what_the_prompt_says() -> None:
    assert told("compact", Limit(40, False)) == "=40" and told("compact", Limit(40, True)) == "<40"
    assert told("natural", Limit(40, False)) == "Think for 40 tokens."
    assert told("natural", Limit(40, True)) == "Think for maximum 40 tokens."


def test_what_tools_reply_is_on_no_budget() -> None:
    told_three = [
        dataclasses.replace(answer, request=dataclasses.replace(answer.request, tag=f"{EXACTLY} 3"))
        for answer in with_replies()
    ]
    assert earned(Adherence(unit=10), told_three) == pytest.approx([-0.1, 0.0, -0.1])


def test_end_tokens_count_as_length() -> None:
    assert earned(Adherence(unit=10), [limited(3, False, 3, True)]) == [0.0]
    ended = dataclasses.replace(limited(3, False, 2, True), segments=episode([1, 1, END]).segments)
    assert earned(Adherence(unit=10), [ended]) == [0.0]


def test_a_question_keeps_its_hint_beside_its_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    worked.register(monkeypatch)
    helped = hinted(asked(), Memory(0), codec=Signs(), share=1.0)
    assert all(request.helped for request in helped)
    again = bind(Budget(low=2, high=3), codec=Signs())(helped, memory=Memory(0))
    assert all(request.helped for request in again)
    for before, after in zip(helped, again, strict=True):
        assert str(after.prompt.told).startswith(f"{before.prompt.told} [=")


def test_the_card_of_the_budget_says_what_it_asks_for_and_how_it_scales() -> None:
    found = part_card("ask", "budget")
    asks = {row["name"] for row in found["may_ask_for"] if row["asks"]}
    assert asks == {"codec", "memory"}
    assert {row["paper"] for row in found["method"]} == {"2503.04697"}
    (high,) = (row for row in found["fields"] if row["name"] == "high")
    assert high["scales_with"] == "max_new" and high["default"] == 4000
    (prompts,) = (row for row in found["answers"] if row["name"] == "prompts")
    assert prompts["own"] and prompts["answer"] == "its own"


def test_all_names_of_the_paper_mean_one() -> None:
    assert papers.named("2503.04697") == papers.named("L1-Exact and L1-Max") == papers.named("len-l1")
