"""Dynamic sampling: which groups are drawn, kept and counted, by hand and in runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kl_runs import small
from tiny import END, Notes, group_of, policy, register, run

from assay.curate.parts import first_groups, mixed_groups
from assay.known import recipe
from assay.recipe import Recipe
from assay.types import Row


@pytest.fixture(autouse=True)
def task(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def kept(*groups: Sequence[float], num_prompts: int) -> list[str]:
    """Names of the groups that train: groups are named by their place."""
    rows = [row for place, rewards in enumerate(groups) for row in group_of(rewards, name=f"{place}")]
    marked = first_groups(mixed_groups(rows, num_prompts=num_prompts, by="accuracy"), num_prompts=num_prompts)
    assert len(marked) == len(rows), "nothing is deleted"
    return list(dict.fromkeys(row.group for row in marked if row.in_loss and row.in_denominator and row.in_group))


def test_the_first_mixed_groups_train_by_hand() -> None:
    groups = ([1.0, 1.0], [1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [1.0, 0.0])
    assert kept(*groups, num_prompts=2) == ["1", "3"]
    assert kept(*groups, num_prompts=9) == ["1", "3", "4"]
    assert kept([1.0], [0.0], num_prompts=2) == ["0", "1"], "groups of one answer are kept"
    assert kept([0.5, 1.0], num_prompts=1) == [], "both are right: their shaped rewards do not count"


@given(st.lists(st.lists(st.sampled_from([0.0, 1.0]), min_size=2, max_size=5), min_size=1, max_size=8))
def test_exactly_the_mixed_groups_train_whatever_their_order(groups: list[list[float]]) -> None:
    mixed = [str(place) for place, rewards in enumerate(groups) if len(set(rewards)) == 2]
    assert kept(*groups, num_prompts=99) == mixed
    assert kept(*groups, num_prompts=1) == mixed[:1]


def trained(rows: Sequence[Row]) -> int:
    return len({row.group for row in rows if row.in_loss})


def with_rounds(found: Recipe, rounds: int) -> Recipe:
    (refill,) = found.mechanism.expand
    expand = (dataclasses.replace(refill, max_rounds=rounds),)  # type: ignore[call-arg]
    return dataclasses.replace(found, mechanism=dataclasses.replace(found.mechanism, expand=expand))


def runs(rounds: int) -> Notes:
    """Groups of two: many have equal answers."""
    made = with_rounds(small("dapo-ds", num_prompts=6, group_size=2, num_steps=4, oversample=1), rounds)
    notes, memory = run(made, policy("fp32", vocab=4))
    drawn = sum(len(step) for step in notes.episodes)
    assert memory.budget.rollouts == drawn and memory.budget.generated_tokens >= drawn, "all that was drawn is spent"
    return notes


def test_a_step_ends_with_enough_mixed_groups_or_at_the_cap() -> None:
    for episodes, rows in zip((notes := runs(10)).episodes, notes.rows):
        groups = {e.request.group for e in episodes}
        assert trained(rows) == 6 or len(groups) == 60
        assert len(groups) % 6 == 0, "whole rounds"
    capped = runs(1)
    assert all(len({e.request.group for e in step}) == 6 for step in capped.episodes)
    assert sum(map(trained, capped.rows)) < sum(map(trained, notes.rows)), "uniform groups are dropped, not replaced"


def test_it_is_grpo_with_dynamic_sampling_alone() -> None:
    one, other = recipe("dapo-ds"), recipe("grpo")
    assert one.mechanism == dataclasses.replace(
        other.mechanism, expand=one.mechanism.expand, curate=one.mechanism.curate
    )
    assert one.scale == dataclasses.replace(other.scale, oversample=3) and END == 0
