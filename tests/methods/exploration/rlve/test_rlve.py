"""Levels that climb: the window that is drawn from, the check that opens the next one, and what it counts."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence

import pytest
from altered import altered
from hypothesis import given, settings
from hypothesis import strategies as st
from learning_draws import shown
from tiny import TINY, Letters, episode, models_of, phases_of, policy, recipe_of, register, require_resumable, run
from worded import helped

from assay.memory import Memory
from assay.methods.exploration.rlve.levels import STORE, Standing, promote, standing
from assay.methods.exploration.rlve.source import level_window
from assay.source import Pool, Share
from assay.types import Episode

SHARE = Share("tiny", (2, 3, 5, 7, 8, 9))
POOL = Pool((SHARE,))


@pytest.fixture(autouse=True)
def task(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, altered(TINY, levels=range(1, 10)))


def at(highest: int) -> Memory:
    return Memory(3).keep(STORE, {"tiny:2,3,5,7,8,9": dataclasses.asdict(Standing(highest))})


def answers(level: int, rights: Sequence[Sequence[bool | None]], first: int = 0) -> list[Episode]:
    """A group for each sequence; None is an error of ours."""
    made = []
    for g, group in enumerate(rights, start=first):
        for i, right in enumerate(group):
            one = episode([1], group=f"{level}:{g}", sample=i, draw=g, reward=None if right is None else float(right))
            problem = dataclasses.replace(one.request.problem, level=level)
            made.append(dataclasses.replace(one, request=dataclasses.replace(one.request, problem=problem)))
    return made


def after(memory: Memory, episodes: Sequence[Episode]) -> Standing:
    return standing(promote(memory, episodes=episodes, pool=POOL, accuracy=0.9, after=8), SHARE)


# The window


@pytest.mark.parametrize(("highest", "levels"), [(0, {2}), (1, {2, 3}), (3, {2, 3, 5, 7}), (5, {5, 7, 8, 9})])
def test_problems_come_from_the_highest_open_levels(highest: int, levels: set[int]) -> None:
    drawn = Counter(p.level for p in level_window(at(highest), 0, 400, pool=POOL, width=4))
    assert set(drawn) == levels
    expected = 400 / len(levels)
    assert all(abs(count - expected) < 5 * expected**0.5 for count in drawn.values())


def test_shares_climb_by_themselves_and_are_drawn_alike() -> None:
    pool = Pool((SHARE, Share("mod-chain", (1, 2, 3))))
    drawn = level_window(at(5), 0, 400, pool=pool, width=2)
    assert {p.level for p in drawn if p.task == "tiny"} == {8, 9}
    assert {p.level for p in drawn if p.task == "mod-chain"} == {1}
    assert 150 < sum(p.task == "tiny" for p in drawn) < 250


def test_a_refill_continues_the_draws_of_the_step() -> None:
    whole = level_window(at(4), 0, 12, pool=POOL, width=4)
    parts = level_window(at(4), 0, 5, pool=POOL, width=4) + level_window(at(4), 5, 7, pool=POOL, width=4)
    assert [p.level for p in parts] == [p.level for p in whole]


# The check


def test_nine_of_ten_right_on_the_highest_level_open_the_next() -> None:
    """8 groups of 5: 36 right are 0.9, 35 are not. Either way counting starts anew."""
    full = [[True] * 5] * 7
    assert after(at(1), answers(3, [*full, [True, False, False, False, False]])) == Standing(2)
    assert after(at(1), answers(3, [*full, [False] * 5])) == Standing(1)


def test_fewer_prompts_are_kept_for_the_next_steps() -> None:
    memory = promote(at(1), episodes=answers(3, [[True, True]] * 7), pool=POOL, accuracy=0.9, after=8)
    assert standing(memory, SHARE) == Standing(1, prompts=7, right=14, tried=14)
    assert after(memory, answers(3, [[True, False]], first=20)) == Standing(2)  # 15 of 16


def test_only_the_highest_level_and_only_verdicts_count() -> None:
    easy = answers(2, [[True, True]] * 30)
    assert after(at(1), easy) == Standing(1)
    assert after(at(1), [*easy, *answers(3, [[True, None]])]) == Standing(1, prompts=1, right=1, tried=1)


def test_the_last_level_stays_open() -> None:
    assert after(at(5), answers(9, [[True]] * 8)) == Standing(5)


@given(steps=st.lists(st.lists(st.lists(st.booleans(), min_size=2, max_size=4), max_size=6), max_size=12))
@settings(max_examples=60, deadline=None)
@pytest.mark.slow
def test_a_level_opens_exactly_when_the_sums_since_the_last_check_say_so(steps: list[list[list[bool]]]) -> None:
    memory, highest, seen = at(0), 0, []
    for step in steps:
        level = sorted(SHARE.levels)[highest]
        memory = promote(memory, episodes=answers(level, step), pool=POOL, accuracy=0.5, after=4)
        seen += step
        if len(seen) >= 4:
            flat = [right for group in seen for right in group]
            highest, seen = min(5, highest + (2 * sum(flat) >= len(flat))), []
        assert standing(memory, SHARE).highest == highest


# In the loop


def test_the_controller_sees_what_the_filter_removes() -> None:
    """Groups that are all right train nothing, and open the next level."""
    phases = phases_of(recipe_of("rlve", num_prompts=8, group_size=2), pool=POOL)
    models, memory = models_of(policy("fp32")), at(0)
    episodes = answers(2, [[True, True]] * 8)
    rows = phases.curate(models, episodes, memory)
    assert not any(row.in_loss for row in rows)
    assert standing(phases.remember(memory, models, episodes, rows, {}), SHARE) == Standing(1)


def test_answers_with_a_hint_open_no_level() -> None:
    bare = answers(2, [[True, True]] * 8)
    hinted = [dataclasses.replace(e, request=helped(e.request)) for e in bare]
    assert after(at(0), bare) == Standing(1) and after(at(0), hinted) == Standing(0)


@pytest.mark.slow
def test_a_run_climbs_and_resumes_where_it_stood() -> None:
    recipe = recipe_of("rlve", max_new=4, num_prompts=8, group_size=4, num_steps=6, learning_rate=0.02, warmup_steps=0)
    remember = tuple(dataclasses.replace(part, accuracy=0.2) for part in recipe.mechanism.remember)  # type: ignore[call-arg]
    recipe = dataclasses.replace(recipe, mechanism=dataclasses.replace(recipe.mechanism, remember=remember))
    memory = require_resumable(
        recipe, lambda: policy("fp32", vocab=4, init_std=0.1), after=3, pool=POOL, codec=Letters()
    )
    assert 2 <= standing(memory, SHARE).highest <= 5


@pytest.mark.slow
@pytest.mark.learning
def test_it_learns_and_its_levels_rise() -> None:
    recipe = recipe_of("rlve", max_new=4, num_prompts=8, group_size=8, num_steps=30, learning_rate=0.014)
    notes, memory = run(recipe, policy("fp32", vocab=4, hidden=16, ffn=16, init_std=0.1), pool=POOL)
    accuracy = notes.accuracy()
    shown("rise", accuracy[-5:].mean() - accuracy[:5].mean(), above=0.2)
    shown("the highest level", standing(memory, SHARE).highest, above=0)
