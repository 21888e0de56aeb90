"""TreePO: how paths split, means over ancestors by hand, and steps of training."""

from __future__ import annotations

import dataclasses
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fresh_draws import require_fresh_draws
from hypothesis import given
from hypothesis import strategies as st
from tiny import episode, group_of, policy, recipe_of, register, require_resumable, run, segment

from assay.lab.trial import small_run
from assay.memory import Memory
from assay.methods.baselines.treepo.credit import ancestor_means
from assay.methods.baselines.treepo.widen import FirstSplit, first_split, widen, widths
from assay.recipe import Recipe
from assay.types import Episode, Row

KEEN = {"init_std": 0.1, "vocab": 4}


@pytest.fixture(autouse=True)
def task(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def small(**scale: object) -> Recipe:
    sizes = {"num_prompts": 4, "group_size": 8, "num_steps": 3, "learning_rate": 0.01, "warmup_steps": 0}
    return recipe_of("treepo", max_new=8, **{**sizes, "oversample": 1, **scale})


def leaf(*nodes: tuple[str, int], reward: float, sample: int) -> Row:
    return Row(episode([segment([1] * n, node=name) for name, n in nodes], reward=reward, sample=sample))


def four_leaves() -> list[Row]:
    """x is followed by y, of which two leaves come, and by z; w stands by itself."""
    return [
        leaf(("x", 2), ("y", 2), ("a", 1), reward=1.0, sample=0),
        leaf(("x", 2), ("y", 2), ("b", 2), reward=0.0, sample=1),
        leaf(("x", 2), ("z", 1), reward=0.0, sample=2),
        leaf(("w", 3), reward=1.0, sample=3),
    ]


def advantages(rows: list[Row], weigh: str) -> list[float]:
    return [float(row.advantage[0]) for row in ancestor_means(rows, weigh=weigh) if row.advantage is not None]


# Credit


def test_means_over_ancestors_by_hand() -> None:
    """Means: 1/2 below the root, 1/3 below x, 1/2 below y; of these groups a and b are in three, z in two, w in one."""
    a = (1 / 2 + 2 / 3 + 1 / 2) / 3
    b = (-1 / 2 - 1 / 3 - 1 / 2) / 3
    z = (-1 / 2 - 1 / 3) / 2
    assert advantages(four_leaves(), "depth") == pytest.approx([a, b, z, 1 / 2], abs=1e-12)
    a = (4 * 1 / 2 + 3 * 2 / 3 + 2 * 1 / 2) / 9
    b = (-4 * 1 / 2 - 3 * 1 / 3 - 2 * 1 / 2) / 9
    z = (-4 * 1 / 2 - 3 * 1 / 3) / 7
    assert advantages(four_leaves(), "size") == pytest.approx([a, b, z, 1 / 2], abs=1e-12)


def test_every_token_of_a_leaf_has_the_same_advantage_and_equal_rewards_none() -> None:
    for row in ancestor_means(four_leaves(), weigh="depth"):
        assert row.advantage is not None and len(set(row.advantage.tolist())) == 1
    same = [leaf(("x", 1), (str(i), 1), reward=0.1 + 0.2, sample=i) for i in range(3)]
    assert advantages(same, "depth") == [0.0] * 3


@given(st.lists(st.integers(-3, 3), min_size=2, max_size=8), st.integers(-3, 3))
def test_answers_that_share_nothing_are_compared_with_the_group(rewards: list[int], shift: int) -> None:
    """And a constant that all rewards have in common changes nothing."""
    own = advantages(group_of([float(r) for r in rewards]), "depth")
    assert own == pytest.approx([r - np.mean(rewards) for r in rewards], abs=1e-12)
    assert advantages(group_of([float(r + shift) for r in rewards]), "depth") == pytest.approx(own, abs=1e-12)


# The tree


def test_how_paths_split_by_hand() -> None:
    assert widths(2, 0, 2, 16) == [2, 2] and widths(3, 1, 2, 16) == [3, 2, 2] and widths(3, 13, 2, 16) == [1] * 3
    assert widths(8, 4, 2, 16) == [2, 2, 2, 2, 1, 1, 1, 1] and widths(5, 14, 2, 16) == [1] * 5


@given(st.integers(1, 20), st.integers(0, 20), st.integers(1, 4), st.integers(1, 32))
def test_no_path_ends_and_no_tree_is_too_wide(live: int, ended: int, branches: int, leaves: int) -> None:
    found = widths(live, ended, branches, leaves)
    assert len(found) == live and min(found) >= 1 and max(found) - min(found) <= 1
    assert sum(found) + ended <= max(leaves, live + ended)
    assert sum(found) + ended <= branches * (live + ended)


def ended(*nodes: str, sample: int, pauses: bool = True, **about: Any) -> Episode:
    made = episode([segment([1, 1], node=name) for name in nodes], sample=sample, reward=1.0, **about)
    return dataclasses.replace(made, request=dataclasses.replace(made.request, pauses=pauses))


def test_where_all_have_ended_others_branch_off() -> None:
    """At a boundary of an answer, or at its beginning; as many as are wanting."""
    episodes = [ended("a", "b", "c", sample=0), ended("d", sample=1)]
    values = {"group_size": 5, "max_new": 8, "branches": 2}
    seen: Counter[tuple[str, int]] = Counter()
    for step in range(60):
        asked = widen(episodes, Memory(0, step=step), **values)
        assert [request.sample for request in asked] == [2, 3, 4] and len({r.id for r in asked}) == 3
        seen.update((request.parent, request.given) for request in asked)
    assert not widen([ended("a", sample=0, pauses=False)], Memory(0), **values)  # nobody asked for a tree
    assert set(seen) == {("", 0), ("a", 2), ("b", 4)}
    assert 30 < seen["a", 2] < 60 and 70 < seen["", 0] < 110  # a quarter and a half of 180


def test_a_step_grows_trees_of_as_many_leaves_as_answers() -> None:
    notes, _ = run(small(num_steps=1), policy("fp32", **KEEN))
    for group in {e.request.group for e in notes.episodes[0]}:
        mine = [e for e in notes.episodes[0] if e.request.group == group]
        assert sum(e.finish != "pause" for e in mine) == 8 and all(len(e) <= 8 for e in mine)
        assert 2 <= sum(not e.request.parent and e.request.round == 0 for e in mine) <= 8


def off(memory: Memory, name: str) -> Any:
    made = ended(*map(str, range(40)), sample=0, group=name)
    return [r.given for r in widen([made], memory, group_size=5, max_new=96, branches=2)]


def test_places_are_drawn_anew_in_every_step_and_group() -> None:
    require_fresh_draws(off)


def test_the_number_of_first_segments_is_drawn_for_each_step() -> None:
    asked, values = [episode([1]).request], {"group_size": 7, "fewest": 2, "most": 8, "depth": 2, "least": 1}
    found = Counter(len(first_split(asked, Memory(0, step=step), **values)) for step in range(140))
    assert set(found) == {2, 3, 4, 5, 6, 7} and found[7] > max(found[n] for n in range(2, 7))  # 8 are cut to 7


def test_what_cannot_grow_is_refused() -> None:
    assert FirstSplit(fewest=8, most=8).refusal() is None
    assert "fewest must be at most most, and is 9, where most is 8" in str(FirstSplit(fewest=9, most=8).refusal())


# The method


def test_three_steps_of_training(tmp_path: Path) -> None:
    for record in small_run("treepo", tmp_path).metrics():
        assert record["rollouts"] >= 8  # groups that are not mixed do not train


@pytest.mark.slow
def test_a_stopped_run_ends_with_the_same_bits() -> None:
    require_resumable(small(), lambda: policy("fp32", **KEEN), after=1)
