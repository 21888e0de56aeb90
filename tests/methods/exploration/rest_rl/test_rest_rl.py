"""ReST-GRPO: which beginnings are drawn, from which answers, and steps of training."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fresh_draws import require_fresh_draws
from hypothesis import given
from hypothesis import strategies as st
from tiny import END, Letters, episode, policy, recipe_of, register, require_resumable, segment

from assay.lab.trial import small_run
from assay.memory import Memory
from assay.methods.exploration.rest_rl.own_beginnings import BEGINNING, OwnBeginnings, drawn, ends, own_beginnings
from assay.rng import Key
from assay.types import Episode, Origin, Request

VALUES = {"group_size": 2, "spread": 0.05, "best": 0.9, "share": 0.5, "decay": 0.95, "marks": "c"}
LINES = [1, 3, 1, 2, 3, 2, 3, 1, END]  # a c, a b c, b c, a: lines end before tokens 2, 5 and 7


@pytest.fixture(autouse=True)
def task(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def answer(reward: float | None, sample: int = 0, ids: list[int] = LINES, group: str = "0:0") -> Episode:
    return episode([segment(ids, node=f"{group}{sample}")], reward=reward, sample=sample, group=group)


def asked(*episodes: Episode, step: int = 0, **changes: Any) -> list[Request]:
    return own_beginnings(list(episodes), Memory(0, step=step), codec=Letters(), **{**VALUES, **changes})


def test_where_lines_end_by_hand() -> None:
    assert ends(answer(1.0), Letters(), "c") == [2, 5, 7]
    told = episode([segment([1, 3]), segment([2], origin=Origin.ENV), segment([1, 3, 2])], reward=1.0)
    assert ends(told, Letters(), "c") == [5]  # a reply follows the first line


def test_beginnings_of_the_best_answer_are_groups_of_their_own() -> None:
    """Of four lines two beginnings; the best is the second answer, the first of equals."""
    found = asked(answer(0.0), answer(1.0, 1), answer(1.0, 2))
    assert [request.group for request in found] == ["0:0/0"] * 2 + ["0:0/1"] * 2
    assert {request.given for request in found} <= {2, 5, 7} and {r.tag for r in found} == {BEGINNING}
    assert {request.parent for request in found} == {"0:01"} and len({request.id for request in found}) == 4
    assert [request.sample for request in found] == [0, 1, 2, 3]
    for request in found:
        assert np.array_equal(np.concatenate([s.ids for s in request.prefix]), LINES[: request.given])


def test_who_has_no_beginnings() -> None:
    """Equal rewards, no good answer, answers of one line, and errors of ours; nor does a group have them twice."""
    assert not asked(answer(1.0), answer(1.0, 1)) and not asked(answer(0.0), answer(0.5, 1))
    assert not asked(answer(0.0), answer(1.0, 1, [1, 2, END])) and not asked(answer(None), answer(1.0, 1))
    first = asked(answer(0.0), answer(1.0, 1))
    again = Episode(first[0], (segment([1]),), "stop", verdict=answer(1.0).verdict, rewards=answer(1.0).rewards)
    assert not asked(answer(0.0), answer(1.0, 1), again)
    assert (
        len(asked(answer(0.0), answer(1.0, 1), again, answer(0.0, 0, LINES, "0:1"), answer(1.0, 1, LINES, "0:1"))) == 4
    )


def test_answers_to_beginnings_and_those_of_others_have_no_beginnings() -> None:
    """Two answers to a beginning differ as much as answers to a question do."""
    first = asked(answer(0.0), answer(1.0, 1))[:2]
    grown = [
        dataclasses.replace(answer(reward), request=one, segments=(*one.prefix, segment(LINES)))
        for reward, one in zip((0.0, 1.0), first, strict=True)
    ]
    assert not asked(*grown)
    for whose in ("replay", "teacher"):
        assert not asked(*(dataclasses.replace(answer(float(i), i), provenance=whose) for i in range(2)))


def test_the_bounds_of_rewards_are_inclusive_and_their_order_does_not_matter() -> None:
    """Rewards 0 and 1 have the standard deviation 1/2."""
    pair = answer(1.0), answer(0.0, 1)
    assert len(asked(*pair, best=1.0, spread=0.5)) == 4
    assert not asked(*pair, best=1.01) and not asked(*pair, spread=0.51)


def test_early_beginnings_are_drawn_more_often() -> None:
    """With decay 1/2 the three places have weights 4, 2 and 1 of 7."""
    found = Counter(at for i in range(400) for at in drawn([2, 5, 7], 4, Key("d", i), share=0.5, decay=0.5))
    for at, weight in ((2, 4), (5, 2), (7, 1)):
        expected = 800 * weight / 7
        assert abs(found[at] - expected) < 4 * math.sqrt(expected)


@given(st.lists(st.integers(1, 99), min_size=1, max_size=20, unique=True), st.floats(0, 1), st.floats(0.1, 1))
def test_half_as_many_as_lines(places: list[int], share: float, decay: float) -> None:
    found = drawn(places, len(places) + 1, Key("x"), share=share, decay=decay)
    assert len(found) == math.ceil(share * (len(places) + 1)) and set(found) <= set(places)


def lines(memory: Memory, name: str) -> Any:
    long = [1, 3] * 20
    pair = [answer(0.0, 0, long, name), answer(1.0, 1, long, name)]
    return [r.given for r in own_beginnings(pair, memory, codec=Letters(), **VALUES)]  # type: ignore[arg-type]


def test_beginnings_are_drawn_anew_in_every_step_and_group() -> None:
    require_fresh_draws(lines)


def test_wrong_numbers_are_refused() -> None:
    assert OwnBeginnings(share=-1.0).refusal() and OwnBeginnings(decay=0.0).refusal()
    assert OwnBeginnings().refusal() is None and OwnBeginnings(share=0.0).refusal() is None


def test_three_steps_of_training(tmp_path: Path) -> None:
    for record in small_run("rest-rl", tmp_path).metrics():
        assert record["rollouts"] >= 8


@pytest.mark.slow
def test_a_stopped_run_ends_with_the_same_bits() -> None:
    recipe = recipe_of("rest-rl", max_new=8, num_prompts=4, group_size=4, num_steps=3, learning_rate=0.01)
    require_resumable(recipe, lambda: policy("fp32", vocab=4, init_std=0.1), after=1)
