"""Means over ranks by hand, walks through the variants, and a run through both stages."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import POOL, episode, policy, recipe_of, register, require_resumable, run
from worded import helped

from assay.memory import Memory
from assay.methods.exploration.wemath2.climb import ARROWS, STORE, climb, difficulty_graph
from assay.methods.exploration.wemath2.rank_mean import rank_mean, rank_means
from assay.methods.exploration.wemath2.variants import at_level, basic, family_of, levels_of, variants
from assay.recipe import Recipe
from assay.rng import Key
from assay.source import Pool, Share
from assay.source.epochs import set_of
from assay.tasks import task
from assay.types import Episode, Problem, Row

GRIDS = Pool((Share("grids", tuple(range(1, 9))),))
SIZE = 6


@pytest.fixture(autouse=True)
def letters(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def rows_of(*groups: Sequence[float], families: Sequence[str] = ()) -> list[Row]:
    """A group of answers for each variant; all are variants of one problem unless families are given."""
    rows = []
    for place, rewards in enumerate(groups):
        family = families[place] if families else "base"
        problem = Problem("letters", f"q{place}", {}, f"q{place}", parents=(family,))
        for sample, reward in enumerate(rewards):
            made = episode([1, 0], sample=sample, reward=reward)
            request = dataclasses.replace(made.request, problem=problem, group=f"0:{place}")
            rows.append(Row(dataclasses.replace(made, request=request)))
    return rows


def advantages(*groups: Sequence[float], families: Sequence[str] = ()) -> list[float]:
    found = rank_mean(rows_of(*groups, families=families), epsilon=1e-6)
    assert all(row.advantage is not None and len(set(row.advantage)) == 1 for row in found)
    return [float(row.advantage[0]) for row in found if row.advantage is not None]


def test_ranks_of_two_variants_by_hand() -> None:
    """Rewards 4 2 1 and 6 0 3: means 5, 2.5, 0.5 at the ranks; mean 16/6, deviation sqrt(66/6 - (16/6)^2)."""
    middle, deviation = 16 / 6, (66 / 6 - (16 / 6) ** 2) ** 0.5
    means = [5.0, 2.5, 0.5, 5.0, 0.5, 2.5]
    np.testing.assert_allclose(advantages([4, 2, 1], [6, 0, 3]), [(m - middle) / (deviation + 1e-6) for m in means])


def test_equal_answers_share_their_ranks_by_hand() -> None:
    """Right 2 of 4 and 1 of 4: at the ranks 1, 1/2, 0, 0. The two right answers to the first variant have 3/4 each, the
    three wrong ones to the second 1/6 each. Mean 3/8, deviation sqrt(3/8 * 5/8).
    """
    deviation = (3 / 8 * 5 / 8) ** 0.5 + 1e-6
    expected = [3 / 4, 3 / 4, 0, 0, 1, 1 / 6, 1 / 6, 1 / 6]
    found = advantages([1, 1, 0, 0], [1, 0, 0, 0])
    np.testing.assert_allclose(found, [(m - 3 / 8) / deviation for m in expected], atol=1e-12)


def test_a_problem_without_variants_is_compared_within_its_group() -> None:
    """1, 0, 0, 1 has the mean 1/2 and the deviation 1/2; equal rewards teach nothing; families are apart."""
    found = advantages([1, 0, 0, 1], [1, 1], families=["a", "b"])
    np.testing.assert_allclose(found, [1, -1, -1, 1, 0, 0], atol=1e-5)
    assert advantages([0.5, 0.5], [0.5, 0.5]) == [0.0] * 4
    assert advantages([1e7, 1e7 + 1]) == [0.0, 0.0], "apart by no more than single precision rounds"


def test_groups_of_other_sizes_are_compared_by_shares_of_their_ranks() -> None:
    """3 1 and 4 2 2 0: the upper halves are worth 3 and (4 + 2) / 2, the lower 1 and (2 + 0) / 2."""
    pair, four = rank_means([np.array([3.0, 1.0]), np.array([2.0, 0.0, 4.0, 2.0])])
    np.testing.assert_allclose(pair, [3.0, 1.0])
    # quarters: (3 + 4) / 2, (3 + 2) / 2, (1 + 2) / 2, (1 + 0) / 2; both 2s share the middle two
    np.testing.assert_allclose(four, [2.0, 0.5, 3.5, 2.0])


@given(
    st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=1, max_size=4),
    st.integers(-3, 3),
    st.randoms(),
)
def test_advantages_add_up_to_nothing_and_know_no_order(groups: list[list[int]], shift: int, chance) -> None:  # type: ignore[no-untyped-def]
    plain = advantages(*groups)
    assert abs(sum(plain)) < 1e-6 * len(plain)
    np.testing.assert_allclose(advantages(*[[r + shift for r in g] for g in groups]), plain, atol=1e-6)
    rows = rows_of(*groups)
    order = list(range(len(rows)))
    chance.shuffle(order)
    found = rank_mean([rows[i] for i in order], epsilon=1e-6)
    np.testing.assert_allclose([row.advantage[0] for row in found], [plain[i] for i in order], atol=1e-12)  # type: ignore[index]


def test_variants_come_together_and_are_of_one_split() -> None:
    problems = variants(Memory(0), 0, 20, pool=GRIDS)
    assert [p.level for p in problems] == [*range(1, 9), *range(1, 9), *range(1, 5)]
    assert Counter(map(family_of, problems)).most_common(2) == [(problems[0].id, 8), (problems[8].id, 8)]
    assert {task("grids").split_of(p.spec) for p in problems} == {"train"}
    assert {(p.spec["kind"], p.spec["colour"]) for p in problems[:8]} == {
        (problems[0].spec["kind"], problems[0].spec["colour"])
    }
    assert [p.id for p in variants(Memory(0), 5, 6, pool=GRIDS)] == [p.id for p in problems[5:11]]
    assert all(not p.parents for p in variants(Memory(0), 0, 4, pool=POOL)), "a task without variants"


def test_levels_are_those_of_the_task_of_the_problem() -> None:
    """A task without variants has the level that was drawn."""
    pool = Pool((Share("grids", (3, 1)), Share("grids", (2,)), Share("mod-chain", (4, 5))))
    assert levels_of(pool, task("grids").problem(Key(0), level=1)) == [1, 2, 3]
    assert levels_of(pool, task("mod-chain").problem(Key(0), level=4)) == [4]


def answered(problem: Problem, *rights: bool | None) -> list[Episode]:
    made = [episode([1], sample=i, reward=None if r is None else float(r)) for i, r in enumerate(rights)]
    return [dataclasses.replace(e, request=dataclasses.replace(e.request, problem=problem)) for e in made]


def test_every_arrow_of_the_graph() -> None:
    """After a right answer, and after none, as the paper draws them."""
    names = {"": 0, "x": 1, "y": 2, "xy": 3, "z": 4, "xz": 5, "yz": 6, "xyz": 7}
    expected = {
        "": ("x", None),
        "x": ("xy", "y"),
        "y": ("xy", None),
        "xy": ("xz", "z"),
        "z": ("xz", None),
        "xz": ("xyz", "yz"),
        "yz": ("xyz", None),
        "xyz": (None, None),
    }
    for name, arrows in expected.items():
        assert ARROWS[names[name]] == tuple(None if a is None else names[a] for a in arrows)


def test_a_problem_follows_the_arrow_of_its_answers() -> None:
    (base, other, *_) = set_of(basic(GRIDS), 0, SIZE)
    memory = climb(Memory(0), episodes=[*answered(base, False, True), *answered(other, False, False)], pool=GRIDS)
    assert memory.store(STORE) == {base.id: [2, True]}, "the other one is out, and comes again at its base"
    memory = climb(memory, episodes=answered(at_level(base, 2), False, None), pool=GRIDS)
    assert memory.store(STORE) == {base.id: [3, False]}
    lost, plain = answered(at_level(base, 3), None, True)
    hinted = dataclasses.replace(plain, request=helped(plain.request))
    for silent in (lost, hinted, dataclasses.replace(plain, verdict=None)):
        assert climb(memory, episodes=[silent], pool=GRIDS).store(STORE) == {base.id: [3, False]}, "says nothing"
    assert climb(memory, episodes=[plain], pool=GRIDS).store(STORE) == {base.id: [4, True]}
    drawn = difficulty_graph(memory, 0, 4, pool=GRIDS, drawn=4, size=SIZE)
    assert (family_of(drawn[0]), drawn[0].level) == (base.id, 3)
    assert [p.level for p in drawn[1:]] == [1, 1, 1] and base.id not in {p.id for p in drawn[1:]}
    assert memory.store(STORE) == climb(memory, episodes=answered(other, None), pool=GRIDS).store(STORE)


def test_failures_come_before_successes() -> None:
    first, second, *_ = set_of(basic(GRIDS), 0, SIZE)
    memory = Memory(0).keep(STORE, {first.id: [4, True], second.id: [3, False]})
    drawn = difficulty_graph(memory, 0, 2, pool=GRIDS, drawn=2, size=SIZE)
    assert [(family_of(p), p.level) for p in drawn] == [(second.id, 3), (first.id, 4)]


def test_a_variant_that_the_pool_lacks_ends_the_walk() -> None:
    pool = Pool((Share("grids", (1, 2)),))
    (base, *_) = set_of(basic(pool), 0, SIZE)
    memory = climb(Memory(0), episodes=answered(at_level(base, 2), True), pool=pool)
    assert memory.store(STORE) == {}


def small(**scale: object) -> Recipe:
    return recipe_of("wemath2", max_new=4, **{"num_prompts": 4, "group_size": 4, "num_steps": 6, **scale})


def test_a_run_goes_through_both_stages() -> None:
    notes, memory = run(small(), policy("fp32", vocab=4), pool=POOL)
    assert memory.stage == 1 and len(notes.episodes) == 6


@pytest.mark.slow
def test_a_stopped_run_goes_on_with_its_walks() -> None:
    require_resumable(small(), lambda: policy("fp32", vocab=4), after=4)
