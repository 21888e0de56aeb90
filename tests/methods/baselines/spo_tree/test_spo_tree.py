"""SPO-tree: how leaves are shared out, what edges are worth, which of them train, and steps of training."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fresh_draws import require_fresh_draws
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import episode, policy, recipe_of, register, require_resumable, run, segment

from assay.lab.trial import small_run
from assay.memory import Memory
from assay.methods.baselines.spo_tree.branching import shared_out
from assay.methods.baselines.spo_tree.edges import edge_values, edges, train_edges
from assay.recipe import Recipe
from assay.types import Origin, Row

KEEN = {"init_std": 0.1, "vocab": 4}


@pytest.fixture(autouse=True)
def task(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def small(**scale: object) -> Recipe:
    sizes = {"num_prompts": 4, "group_size": 8, "num_steps": 3, "learning_rate": 0.01, "warmup_steps": 0}
    heat = {"temperature": 1.0, "top_p": 1.0}
    return recipe_of("spo-tree", max_new=8, **{**sizes, **heat, **scale})


def leaf(*nodes: tuple[str, int], reward: float | None, sample: int, **marks: Any) -> Row:
    """A row of so many tokens of each of these nodes."""
    return Row(episode([segment([1] * n, node=name) for name, n in nodes], reward=reward, sample=sample), **marks)


def three_leaves() -> list[Row]:
    """x, of two tokens, is followed by y and z; w stands by itself."""
    return [
        leaf(("x", 2), ("y", 3), reward=1.0, sample=0),
        leaf(("x", 2), ("z", 1), reward=0.0, sample=1),
        leaf(("w", 4), reward=1.0, sample=2),
    ]


def random_tree(seed: int) -> list[Row]:
    """Up to three levels of up to three branches each, some of which end early."""
    random = np.random.default_rng(seed)
    rows: list[Row] = []

    def grow(path: list[tuple[str, int]], depth: int) -> None:
        for branch in range(int(random.integers(2, 4))):
            here = [*path, (f"{path[-1][0] if path else ''}{branch}", int(random.integers(1, 4)))]
            if depth < 2 and random.random() < 0.6:
                grow(here, depth + 1)
            else:
                rows.append(leaf(*here, reward=float(random.integers(0, 2)), sample=len(rows)))

    grow([], 0)
    return rows


def values_by_hand(rows: list[Row]) -> dict[str, float]:
    """The value of each node of such a tree by its name; names of branches begin with the name of their parent."""
    found = {row.episode.segments[-1].node: row.reward or 0.0 for row in rows}
    names = {s.node for row in rows for s in row.episode.segments} | {""}
    for name in sorted(names - set(found), key=len, reverse=True):
        found[name] = float(np.mean([found[b] for b in names if len(b) == len(name) + 1 and b.startswith(name)]))
    return found


# The shape of the tree


def test_leaves_are_shared_out_by_hand() -> None:
    assert shared_out(216, 3) == [36] * 6 and shared_out(36, 2) == [6] * 6 and shared_out(6, 1) == [1] * 6
    assert shared_out(8, 3) == [4, 4] and shared_out(9, 3) == [3, 3, 3] and shared_out(4, 3) == [2, 2]


@given(st.integers(1, 500), st.integers(1, 5))
def test_shares_add_up_and_are_as_equal_as_possible(leaves: int, levels: int) -> None:
    found = shared_out(leaves, levels)
    assert sum(found) == leaves and max(found) - min(found) <= 1
    assert len(found) ** levels >= leaves > (len(found) - 1) ** levels


def test_a_step_grows_trees_of_as_many_leaves_as_answers() -> None:
    """Segments of four of eight tokens: two levels can branch, and the second one goes to the end."""
    notes, _ = run(small(num_steps=1), policy("fp32", **KEEN))
    (episodes,) = notes.episodes
    for group in {e.request.group for e in episodes}:
        mine = [e for e in episodes if e.request.group == group]
        followed = Counter(e.request.parent for e in mine)
        assert followed[""] == 2 and all(followed[e.segments[-1].node] == 4 for e in mine if e.finish == "pause")
        assert sum(e.finish != "pause" for e in mine) <= 8
        assert all(len(e) <= 8 for e in mine)


# Edges


def test_what_edges_add_by_hand() -> None:
    """V(x) = 1/2 and V(root) = (1/2 + 1) / 2 = 3/4."""
    worth = [[(e.start, e.end, e.worth) for e in path] for path in edges(three_leaves())]
    assert worth == [[(0, 2, -0.25), (2, 5, 0.5)], [(0, 2, -0.25), (2, 3, -0.5)], [(0, 4, 0.25)]]
    x, z, w = (row.advantage for row in edge_values(three_leaves()))
    assert x is not None and x.tolist() == [-0.25, -0.25, 0.5, 0.5, 0.5]
    assert z is not None and z.tolist() == [-0.25, -0.25, -0.5] and w is not None and w.tolist() == [0.25] * 4


def test_an_edge_goes_on_after_a_reply() -> None:
    """Two turns of an answer that shares nothing are one edge, and a segment that has one branch is one with it."""
    talk = [segment([1, 1], node="a"), segment([3], origin=Origin.ENV), segment([1], node="b")]
    rows = [Row(episode(talk, reward=1.0)), leaf(("w", 2), ("v", 1), reward=0.0, sample=1)]
    first, second = (row.advantage for row in edge_values(rows))
    assert first is not None and first.tolist() == [0.5, 0.5, 0.0, 0.5]
    assert second is not None and second.tolist() == [-0.5] * 3
    assert [row.keep.tolist() for row in train_edges(rows, Memory(0), most=9) if row.keep is not None] == [
        [True, True, False, True],
        [True] * 3,
    ]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9))
def test_values_are_means_over_branches(seed: int) -> None:
    rows = random_tree(seed)
    value = values_by_hand(rows)
    for row, path in zip(rows, edges(rows), strict=True):
        names = ["", *(s.node for s in row.episode.segments)]
        told = [value[after] - value[before] for before, after in zip(names, names[1:], strict=False)]
        assert [edge.worth for edge in path] == pytest.approx(told, abs=1e-12)
        assert sum(edge.worth for edge in path) == pytest.approx((row.reward or 0.0) - value[""], abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9))
def test_every_edge_that_adds_something_trains_once(seed: int) -> None:
    rows = random_tree(seed)
    trained: Counter[tuple[str, int]] = Counter()
    worth: dict[tuple[str, int], float] = {}
    for row, path in zip(train_edges(rows, Memory(0), most=10**6), edges(rows), strict=True):
        tokens = [(s.node, at) for s in row.episode.segments for at in range(len(s))]
        worth |= {tokens[at]: edge.worth for edge in path for at in range(edge.start, edge.end)}
        assert row.keep is not None
        trained.update(token for token, kept in zip(tokens, row.keep, strict=True) if kept)
    assert trained == Counter({token for token, added in worth.items() if abs(added) > 1e-9})


def test_so_many_edges_train_and_no_others_stay_in_the_mean() -> None:
    """Of the four edges two: their tokens alone are kept; a mask that stands is not widened; a lost answer is none."""
    rows = three_leaves()
    for step in range(20):
        kept = [row.keep.sum() for row in train_edges(rows, Memory(0, step=step), most=2) if row.keep is not None]
        assert len(kept) == 3 and sum(kept) in {2 + 3, 2 + 1, 2 + 4, 3 + 1, 3 + 4, 1 + 4}
    (first, *_) = train_edges([rows[0].mark(keep=np.arange(5) < 1), *rows[1:]], Memory(0), most=9)
    assert first.keep is not None and first.keep.tolist() == [True, False, False, False, False]
    lost = leaf(("x", 2), ("v", 2), reward=None, sample=3, in_group=False, in_loss=False)
    assert train_edges([lost, *rows], Memory(0), most=9)[0].keep is None


def drawn(memory: Memory, name: str) -> Any:
    rows = [leaf((str(i), 1), reward=float(i % 2), sample=i) for i in range(12)]
    named = [row.mark(episode=episode(row.episode.segments, reward=row.reward, group=name)) for row in rows]
    return [row.keep.tolist() for row in train_edges(named, memory, most=3) if row.keep is not None]


def test_edges_are_drawn_anew_in_every_step_and_group() -> None:
    require_fresh_draws(drawn)


# The method


def test_equal_rewards_teach_nothing() -> None:
    rows = [leaf(("x", 2), (str(i), 1), reward=0.3, sample=i) for i in range(3)]
    assert all(not row.keep.any() for row in train_edges(rows, Memory(0), most=9) if row.keep is not None)


def test_three_steps_of_training(tmp_path: Path) -> None:
    for record in small_run("spo-tree", tmp_path).metrics():
        assert np.isfinite(record["policy/grad_norm"])


@pytest.mark.slow
def test_a_stopped_run_ends_with_the_same_bits() -> None:
    require_resumable(small(), lambda: policy("fp32", **KEEN), after=1)
