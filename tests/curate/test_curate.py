"""Which rows train, what their rewards are, and how DAPO fills its batch."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from of_methods import said
from tiny import POOL, episode, group_of, models_of, phases_of, recipe_of, register

from assay.collect.expand import refill
from assay.curate import MixedGroups, leave_out
from assay.curate.grouping import spread
from assay.curate.parts import first_groups, mixed_groups
from assay.known import RECIPES
from assay.memory import Memory
from assay.reward.lengths import soft_overlong
from assay.reward.parts import outcome
from assay.source import uniform
from assay.types import Episode, Request, Row, Verdict


def kept(rows: list[Row]) -> list[str]:
    return list(dict.fromkeys(row.group for row in rows if row.in_loss))


# Rewards


def test_outcome() -> None:
    made = [episode([1, 0], right=True), episode([1, 0], right=False), episode([1, 0], reward=None)]
    assert [r.value for r in outcome(made, max_new=8, right=2.0, wrong=-1.0) if r] == [2.0, -1.0, -1.0]
    assert made[2].reward is None  # an error of ours has none, whatever the parts say


@pytest.mark.parametrize("length, value", [(0, 0.0), (12, 0.0), (13, -0.25), (14, -0.5), (16, -1.0), (20, -2.0)])
def test_soft_overlong_falls_over_the_last_tokens(length: int, value: float) -> None:
    """A limit of 16 and a buffer of 4: nothing up to 12 tokens, -1 at the limit; right and wrong answers alike."""
    for right in (True, False):
        (found,) = soft_overlong([episode([1] * length, right=right)], max_new=16, buffer=4, factor=1.0)
        assert found is not None and found.value == pytest.approx(value)
        (half,) = soft_overlong([episode([1] * length, right=right)], max_new=16, buffer=4, factor=0.5)
        assert half is not None and half.value == pytest.approx(value / 2)


def test_the_reward_of_an_episode_is_the_sum_of_its_parts() -> None:
    one = episode([1] * 15, right=True)
    parts = (
        *outcome([one], max_new=16, right=1.0, wrong=-1.0),
        *soft_overlong([one], max_new=16, buffer=4, factor=1.0),
    )
    assert dataclasses.replace(one, rewards=parts).reward == pytest.approx(1.0 - 0.75)
    assert dataclasses.replace(one, rewards=()).reward is None


def test_dapo_at_the_papers_scale() -> None:
    """16384 tokens are free, 20480 are the limit."""
    part = RECIPES["dapo"].mechanism.reward[1]
    lengths = {16384: 0.0, 18432: -0.5, 20480: -1.0}
    for length, value in lengths.items():
        (found,) = soft_overlong([episode([1] * length)], max_new=20480, buffer=part.buffer, factor=part.factor)  # type: ignore[attr-defined]
        assert found is not None and found.value == pytest.approx(value)


# Curation


def test_spread_is_more_than_rounding() -> None:
    assert not spread([]) and not spread([0.1] * 7) and not spread([0.3, 0.1 + 0.2]) and not spread([1e9, 1e9 + 1])
    assert spread([0.0, 1.0]) and spread([0.0, 2e-6])


def test_mixed_groups_looks_at_accuracy_not_at_the_shaped_reward() -> None:
    def shaped(name: str, right: list[bool], rewards: list[float]) -> list[Row]:
        rows = group_of(rewards, name=name)
        verdicts = [Verdict.ok() if r else Verdict.fail("wrong") for r in right]
        return [row.mark(episode=dataclasses.replace(row.episode, verdict=v)) for row, v in zip(rows, verdicts)]

    rows = [
        *shaped("all right", [True] * 3, [1.0, 0.5, 0.2]),
        *shaped("all wrong", [False] * 3, [-1.0, -1.5, -2.0]),
        *shaped("mixed", [True, False, False], [1.0, -1.0, -1.0]),
        *shaped("mixed but equal", [True, False], [0.0, 0.0]),
        *shaped("alone", [True], [1.0]),
    ]
    assert kept(mixed_groups(rows, num_prompts=9, by="accuracy")) == ["mixed", "mixed but equal", "alone"]
    assert kept(mixed_groups(rows, num_prompts=9, by="reward")) == ["all right", "all wrong", "mixed", "alone"]


def test_mixed_groups_leaves_out_a_group_that_errors_shrank_to_one_answer() -> None:
    rows = [*group_of([1.0, None, None], name="shrunk"), *group_of([1.0], name="asked for one")]
    rows = [row if row.reward is not None else row.mark(in_loss=False, in_group=False) for row in rows]
    assert kept(mixed_groups(rows, num_prompts=9, by="accuracy")) == ["asked for one"]


def test_mixed_groups_judges_the_rows_that_have_a_verdict() -> None:
    rows = [*group_of([1.0, 1.0, None], name="a"), *group_of([1.0, 0.0, None], name="b")]
    rows = [
        row if row.reward is not None else row.mark(in_loss=False, in_group=False, in_denominator=False) for row in rows
    ]
    found = mixed_groups(rows, num_prompts=9, by="accuracy")
    assert kept(found) == ["b"]
    assert [row.in_loss for row in found] == [False, False, False, True, True, False]


def test_first_groups_keeps_the_order_of_draws_and_counts_only_what_trains() -> None:
    rows = [row for name in "abcd" for row in group_of([1.0, 0.0], name=name)]
    rows = leave_out(rows, {2, 3})
    assert kept(first_groups(rows, num_prompts=2)) == ["a", "c"]
    assert kept(first_groups(rows, num_prompts=9)) == ["a", "c", "d"]


def test_nothing_is_deleted_and_the_three_marks_are_apart() -> None:
    rows = group_of([1.0, 0.0])
    found = leave_out(rows, {1})
    assert len(found) == 2 and found[0] is rows[0] and found[1].episode is rows[1].episode
    assert (found[1].in_loss, found[1].in_group, found[1].in_denominator) == (False, False, False)
    assert leave_out(rows, {1}, denominator=True)[1].in_denominator


def test_dapo_curates_to_the_first_mixed_groups() -> None:
    recipe = recipe_of("dapo", num_prompts=2, group_size=2)
    assert recipe.mechanism.curate[0] == MixedGroups(by="accuracy")
    made = [
        group_of(r, name=n) for n, r in (("a", [1.0, 1.0]), ("b", [1.0, 0.0]), ("c", [0.0, 1.0]), ("d", [0.0, 1.0]))
    ]
    episodes = [row.episode for rows in made for row in rows]
    rows = phases_of(recipe).curate(models_of(None), episodes, Memory(0))
    assert kept(rows) == ["b", "c"] and len(rows) == 8
    (batch,) = phases_of(recipe).credit(rows, Memory(0))
    assert batch.group == ("b", "b", "c", "c") and batch.counted_rows.all()


CHOOSES = said("CHOOSES")
"""Recipe -> what it chooses: groups by what their answers say, which is nothing here, or rows of a group."""


def test_an_episode_without_verdict_is_masked_in_every_recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)
    for name in RECIPES:
        episodes = [row.episode for row in group_of(said("FOUR").get(name, [1.0, None, 0.0, 0.0]))]
        rows = phases_of(recipe_of(name), stage=-1).curate(models_of(None), episodes, Memory(0))
        marks = [(row.in_loss, row.in_group, row.in_denominator) for row in rows]
        assert marks[1] == (False,) * 3
        assert CHOOSES.get(name) == "groups" or marks[0] == (True,) * 3
        if name not in CHOOSES:
            assert all(in_group and in_loss == counts for in_loss, in_group, counts in marks[2:])  # some may wait


# Refill


def asked(first: int, count: int) -> list[Request]:
    problem = episode([1]).request.problem
    return [Request(problem, np.ones(1, np.int32), str(i), 4, draw=i) for i in range(first, first + count)]


def drawn_group(draw: int, *right: bool | None) -> list[Episode]:
    rewards = [None if r is None else float(r) for r in right]
    return [episode([1, 0], group=str(draw), draw=draw, sample=i, reward=r) for i, r in enumerate(rewards)]


def refilled(
    episodes: list[Episode], *, num_prompts: int = 2, drawn: int = 3, max_rounds: int = 4, share: float = 1.0
) -> list[int]:
    """Ordinals of the further draws."""
    calls: list[tuple[int, int]] = []

    def more(memory: Memory, first: int, count: int) -> list[Request]:
        calls.append((first, count))
        return asked(first, count)

    found = refill(
        episodes,
        Memory(0),
        more=more,
        wanted="mixed",
        share=share,
        num_prompts=num_prompts,
        drawn=drawn,
        max_rounds=max_rounds,
    )
    assert len(calls) == bool(found)
    return [request.draw for request in found]


def test_refill_asks_until_enough_groups_are_mixed() -> None:
    episodes = [*drawn_group(0, True, False), *drawn_group(1, True, True), *drawn_group(2, False, False)]
    assert refilled(episodes) == [3, 4, 5]
    assert refilled([*episodes, *drawn_group(3, False, True)]) == []
    assert refilled(episodes, num_prompts=1) == []
    assert refilled(episodes, share=0.5) == [] and refilled(episodes, share=0.6) == [3, 4, 5]


def test_refill_does_not_count_an_error_of_ours_as_a_wrong_answer() -> None:
    episodes = [*drawn_group(0, True, None), *drawn_group(1, None, False), *drawn_group(2, True, None, False)]
    assert refilled(episodes) == [3, 4, 5]
    assert refilled(episodes, num_prompts=1) == []


def test_refill_stops_at_its_cap() -> None:
    hopeless = [e for draw in range(12) for e in drawn_group(draw, False, False)]
    assert refilled(hopeless, max_rounds=5) == [12, 13, 14]
    assert refilled(hopeless, max_rounds=4) == []


def test_draws_of_a_refill_continue_those_of_the_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """The problems of draws 3 to 5 are the same whether drawn at once or later."""
    memory = Memory(7)
    register(monkeypatch)
    at_once = [p.id for p in uniform(memory, 0, 6, pool=POOL)]
    assert at_once == [p.id for first in (0, 3) for p in uniform(memory, first, 3, pool=POOL)]
    assert at_once != [p.id for p in uniform(dataclasses.replace(memory, step=1), 0, 6, pool=POOL)]
