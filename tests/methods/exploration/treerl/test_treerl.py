"""TreeRL: values of subtrees, how a shared piece weighs, and which leaves train."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from fresh_draws import require_fresh_draws
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import episode, group_of, models_of, phases_of, policy, recipe_of, register, require_resumable, run, segment

from assay.collect.trees import trees
from assay.credit.pieces import pieces
from assay.errors import ConfigError
from assay.memory import Memory
from assay.methods.exploration.treerl.credit import Share, Terms, tree_relative
from assay.methods.exploration.treerl.draw_leaves import draw_leaves
from assay.recipe import Recipe
from assay.types import Origin, Row

KEEN = {"init_std": 0.1, "vocab": 4}


@pytest.fixture(autouse=True)
def task(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def small(**scale: object) -> Recipe:
    sizes = {"num_prompts": 4, "group_size": 8, "num_steps": 3, "learning_rate": 0.01, "warmup_steps": 0}
    return recipe_of("treerl", max_new=6, **{**sizes, **scale})


def leaf(*nodes: tuple[str, int], reward: float, sample: int, **marks: Any) -> Row:
    """A row that holds so many first tokens of each of these nodes."""
    own = [segment([1] * count, node=name) for name, count in nodes]
    return Row(episode(own, reward=reward, sample=sample), **marks)


def four_leaves() -> list[Row]:
    """A trunk x of four tokens, left by y and z before its third; a trunk w by itself."""
    return [
        leaf(("x", 4), reward=1.0, sample=0),
        leaf(("x", 2), ("y", 3), reward=0.0, sample=1),
        leaf(("x", 2), ("z", 1), reward=1.0, sample=2, in_loss=False),
        leaf(("w", 6), reward=0.0, sample=3),
    ]


def credited(rows: Sequence[Row], share: Share = "root", terms: Terms = "both") -> list[np.ndarray]:
    return [row.advantage for row in tree_relative(rows, Memory(0), share=share, terms=terms)]  # type: ignore[misc]


# Values


def test_pieces_end_where_a_branch_leaves() -> None:
    found = [[(p.start, p.end, p.leaves) for p in path] for path in pieces(four_leaves())]
    trunk = (0, 2, (0, 1, 2))
    assert found == [[trunk, (2, 4, (0,))], [trunk, (2, 5, (1,))], [trunk, (2, 3, (2,))], [(0, 6, (3,))]]


def test_advantages_of_four_leaves_by_hand() -> None:
    """Rewards 1 0 1 0 leave one out: 2/3 -2/3 2/3 -2/3; lengths 4 5 3 6: their mean by length is -2/3 * 4 / 18.

    Of the three leaves below the trunk two are selected, of all four leaves three.
    """
    mu = -4 / 27
    good, bad = 2 / 3 - mu, -2 / 3 - mu
    trunk, root = (good + bad + good) / 3 / math.sqrt(2), -mu / math.sqrt(3)
    x, y, _, w = credited(four_leaves())
    np.testing.assert_allclose(x, [2 * trunk - root] * 2 + [2 * good - trunk] * 2, rtol=1e-12)
    np.testing.assert_allclose(y, [2 * trunk - root] * 2 + [2 * bad - trunk] * 3, rtol=1e-12)
    np.testing.assert_allclose(w, [2 * bad - root] * 6, rtol=1e-12)
    np.testing.assert_allclose(credited(four_leaves(), terms="global")[0], [trunk] * 2 + [good] * 2, rtol=1e-12)
    np.testing.assert_allclose(credited(four_leaves(), terms="local")[1], [trunk - root] * 2 + [bad - trunk] * 3)


def test_a_local_term_of_zero_is_that_of_the_piece_before() -> None:
    """x is left by y at 2 and by z at 3; all that is left below z's fork is alike, so nothing is learnt there."""
    rows = [
        leaf(("x", 4), reward=1.0, sample=0),
        leaf(("x", 2), ("y", 1), reward=0.0, sample=1),
        leaf(("x", 3), ("z", 1), reward=1.0, sample=2),
    ]
    (x, *_) = credited(rows, share="each")
    plain = credited(rows, share="each", terms="global")[0]
    assert plain[1] != plain[2] == plain[3]
    assert x.tolist() == pytest.approx([*x[:2], 2 * plain[2] - plain[1], 2 * plain[2] - plain[1]])


def test_equal_rewards_and_single_leaves_teach_nothing() -> None:
    for rewards in ([1.0, 1.0, 1.0], [0.0], [0.3, 0.1 + 0.2]):
        assert all((a == 0).all() for a in credited(group_of(rewards)))


def test_words_of_others_are_in_no_piece() -> None:
    talk = [segment([1, 1], node="x"), segment([3, 3, 3], origin=Origin.ENV), segment([1], node="y")]
    rows = [Row(episode(talk, reward=1.0)), leaf(("w", 3), reward=0.0, sample=1)]
    first, second = credited(rows)
    assert (first[2:5] == 0).all() and (first[[0, 1, 5]] > 0).all() and (second < 0).all()


def test_unknown_shares_are_refused() -> None:
    with pytest.raises(ConfigError, match="once, root or each"):
        credited(four_leaves(), share="half")  # type: ignore[arg-type]


@dataclasses.dataclass
class Node:
    """A node of the published algorithm: sums over the leaves below, not means."""

    size: int
    parent: Node | None
    reward: float | None = None  # of a leaf
    selected: bool = True
    leaves: int = 0
    chosen: int = 0
    total: float = 0.0


def grow(random: np.random.Generator) -> list[Row]:
    """A random forest, of trunks with branches and branches of branches, each node with its whole length as a leaf."""
    rows: list[Row] = []
    answers: list[list[tuple[str, int]]] = []
    for name in range(int(random.integers(2, 9))):
        start: list[tuple[str, int]] = []
        if answers and random.random() < 0.7:
            start = list(answers[int(random.integers(len(answers)))])
            last, size = start.pop()
            start.append((last, int(random.integers(1, size)) if size > 1 else 1))
        answers.append([*start, (str(name), int(random.integers(1, 6)))])
        reward, trained = float(random.integers(0, 2)), bool(random.random() < 0.7)
        rows.append(leaf(*answers[-1], reward=reward, sample=name, in_loss=trained))
    return rows


def published(rows: Sequence[Row]) -> list[list[float]]:
    """Token by token: the trie of the rows' tokens, one node a token."""
    nodes: dict[tuple, Node] = {(): Node(0, None)}
    paths = []
    for row in rows:
        path, at = [], ()
        for s in row.episode.segments:
            for place in range(len(s)):
                before, at = nodes[at], (*at, (s.node, place))
                path.append(nodes.setdefault(at, Node(1, before)))
        paths.append(path)
    rewards = [row.reward or 0.0 for row in rows]
    for row, path, reward in zip(rows, paths, rewards, strict=True):
        centred = reward - (sum(rewards) - reward) / (len(rewards) - 1)
        for node in [nodes[()], *path]:
            node.leaves += 1
            node.chosen += row.in_loss
            node.total += centred
    mean = sum(n.total * n.size for n in nodes.values()) / sum(n.leaves * n.size for n in nodes.values())
    for node in nodes.values():
        node.total = (node.total - mean * node.leaves) / (math.sqrt(node.chosen) if node.chosen else 1)
    result = []
    for path in paths:
        found, last = [], 0.0
        for node in path:
            assert node.parent is not None
            here, above = node.total / node.leaves, node.parent.total / node.parent.leaves
            last = last if abs(here - above) < 1e-8 else here - above
            found.append(here + last)
        result.append(found)
    return result


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9))
def test_advantages_are_those_of_the_published_algorithm(seed: int) -> None:
    rows = grow(np.random.default_rng(seed))
    found = credited(rows)
    if len({row.reward for row in rows}) == 1:
        assert all((a == 0).all() for a in found)
        return
    for mine, expected in zip(found, published(rows), strict=True):
        np.testing.assert_allclose(mine, expected, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9))
def test_a_piece_that_k_rows_share_weighs_one_root_k_or_k(seed: int) -> None:
    rows = grow(np.random.default_rng(seed))
    plain = credited(rows, share="each", terms="global")
    for share, total in (("once", lambda k: 1.0), ("root", math.sqrt), ("each", float)):
        found = credited(rows, share=share, terms="global")  # type: ignore[arg-type]
        for i, path in enumerate(pieces(rows)):
            for piece in path:
                chosen = [j for j in piece.leaves if rows[j].in_loss]
                if rows[i].in_loss:
                    weight = sum(found[j][piece.start] for j in chosen)
                    assert weight == pytest.approx(total(len(chosen)) * plain[i][piece.start], abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**9))
def test_local_terms_add_up_to_the_leaf(seed: int) -> None:
    """Along a path: V(root) + sum of V(u) - V(parent u) = V(leaf), where no piece is as good as the one before."""
    rows = grow(np.random.default_rng(seed))
    local, whole = (credited(rows, share="each", terms=terms) for terms in ("local", "global"))
    lengths = np.array([len(row.episode) for row in rows])
    rewards = np.array([row.reward for row in rows])
    centred = (rewards - rewards.mean()) * len(rows) / (len(rows) - 1)
    root = -(centred * lengths).sum() / lengths.sum()
    for i, path in enumerate(pieces(rows)):
        values = [root, *(whole[i][p.start] for p in path)]
        if min(abs(np.diff(values)), default=0.0) > 1e-8:
            assert root + sum(local[i][p.start] for p in path) == pytest.approx(whole[i][-1], abs=1e-9)


# Leaves


def test_as_many_leaves_train_as_a_group_has_rows_and_a_right_one_among_them() -> None:
    rows = [*group_of([0.0] * 9 + [1.0], name="one"), *group_of([0.0] * 3, name="few"), *group_of([0.0] * 6, name="no")]
    seen: Counter[int] = Counter()
    for step in range(200):
        found = draw_leaves(rows, Memory(0, step=step), group_size=4)
        assert all(row.in_group for row in found)
        trained = [i for i, row in enumerate(found) if row.in_loss]
        assert trained == [i for i, row in enumerate(found) if row.in_denominator]
        assert [sum(found[i].group == g for i in trained) for g in ("one", "few", "no")] == [4, 3, 4]
        assert 9 in trained
        seen.update(i for i in trained if i < 9)
    assert all(40 < seen[i] < 95 for i in range(9))  # 200 * 3 / 9


def test_errors_of_ours_are_no_leaves() -> None:
    recipe = small(group_size=2)
    episodes = [row.episode for row in group_of([1.0, None, 0.0, 0.0])]
    rows = phases_of(recipe).curate(models_of(None), episodes, Memory(0))
    assert sum(row.in_loss for row in rows) == 2 and rows[0].in_loss
    assert [row.in_group for row in rows] == [True, False, True, True]


# The method


def test_a_step_grows_balanced_trees() -> None:
    """Of groups of eight: three trunks, each left twice at two places; all leaves are judged and eight train."""
    notes, memory = run(small(num_steps=1), policy("fp32", **KEEN))
    (episodes,), (rows,), ((batch,),) = notes.episodes, notes.rows, notes.batches
    for group in {row.group for row in rows}:
        mine = [e for e in episodes if e.request.group == group]
        for tree in trees(mine).values():
            places = Counter(e.request.fork for e in tree if e.request.parent)
            assert set(places.values()) <= {2} and 1 <= len(places) <= 2 and len(tree) == 1 + 2 * len(places)
        assert sum(row.in_loss for row in rows if row.group == group) == 8
    assert memory.budget.verified_answers == len(episodes)
    assert len(batch) == 8 * 4 and batch.old is None


def test_a_fork_is_where_the_trunk_was_most_surprising() -> None:
    notes, _ = run(small(num_steps=1), policy("fp32", **KEEN))
    trunks = {e.request.id: e for e in notes.episodes[0] if not e.request.parent}
    checked = 0
    for root, trunk in trunks.items():
        found = {e.request.fork for e in notes.episodes[0] if e.request.parent == root}
        ids, old = trunk.stream("ids"), trunk.stream("old")
        open_ = [t for t in range(len(ids)) if ids[t] != 0]
        if len(open_) > 2:
            assert found == set(sorted(open_, key=lambda t: old[t])[:2])
            checked += 1
    assert checked > 3


@pytest.mark.parametrize("after", [1, 2])
@pytest.mark.slow
def test_a_stopped_run_ends_with_the_same_bits(after: int) -> None:
    require_resumable(small(), lambda: policy("fp32", **KEEN), after=after)


def leaves(memory: Memory, name: str) -> Any:
    return [row.in_loss for row in draw_leaves(group_of([1.0, 0.0] * 4, name=name), memory, group_size=2)]


def test_leaves_are_drawn_anew_in_every_step_and_group() -> None:
    require_fresh_draws(leaves)
