"""Mixes by difficulty: the probability of each level, what is counted of it, and what a run draws."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from altered import altered
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import TINY, Letters, episode, policy, recipe_of, register, require_resumable

from assay.memory import Memory
from assay.methods.exploration.enigmata import ENIGMATA, ENIGMATA_STAGED
from assay.methods.exploration.enigmata.bands import STORE, DifficultyMix, band_of, banded, rated
from assay.source import Pool, Share
from assay.tasks import TASKS
from assay.types import Episode

SHARE = Share("tiny", (1, 2, 4, 7))
POOL = Pool((SHARE,))
BOUNDS: Any = {"easy_from": 0.75, "hard_to": 0.25}


@pytest.fixture(autouse=True)
def task(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, altered(TINY, levels=range(1, 10)))


def rates(**by_level: float) -> Memory:
    """The memory after ten answers on each of these levels."""
    return Memory(3).keep(STORE, {f"tiny:{level[1:]}": [10 * rate, 10.0] for level, rate in by_level.items()})


def answers(level: int, right: Sequence[bool | None]) -> list[Episode]:
    """None is an error of ours."""
    made = []
    for i, one in enumerate(right):
        answer = episode([1], group=str(level), sample=i, reward=None if one is None else float(one))
        problem = dataclasses.replace(answer.request.problem, level=level)
        made.append(dataclasses.replace(answer, request=dataclasses.replace(answer.request, problem=problem)))
    return made


def drawn(memory: Memory, *, pool: Pool = POOL, count: int = 1200, **ratios: int) -> Counter[int]:
    said: Any = {"easy": 1, "medium": 1, "hard": 1, **ratios, **BOUNDS}
    return Counter(p.level for p in banded(memory, 0, count, pool=pool, **said))


def test_a_band_is_the_measured_rate_or_else_the_place_among_the_levels() -> None:
    bands = [band_of(rates(l1=0.2, l7=0.9), SHARE, level, **BOUNDS) for level in SHARE.levels]
    assert bands == ["hard", "easy", "medium", "easy"]  # 1 and 7 as measured, 2 and 4 by their place
    at = [band_of(rates(l1=rate), SHARE, 1, **BOUNDS) for rate in (0.0, 0.25, 0.26, 0.74, 0.75, 1.0)]
    assert at == ["hard", "hard", "medium", "medium", "easy", "easy"]
    assert [band_of(Memory(3), Share("tiny", (5,)), 5, **BOUNDS)] == ["easy"]


def test_levels_are_drawn_by_the_ratio_of_their_band() -> None:
    """Easy are 1 and 2, medium is 4, hard is 7: in 1:2:3 these are 1/12 each, 1/3 and 1/2."""
    memory = rates(l1=1.0, l2=0.8, l4=0.5, l7=0.0)
    found = drawn(memory, easy=1, medium=2, hard=3)
    for level, share in {1: 1 / 12, 2: 1 / 12, 4: 1 / 3, 7: 1 / 2}.items():
        assert abs(found[level] - 1200 * share) < 5 * (1200 * share * (1 - share)) ** 0.5
    assert set(drawn(memory, easy=0, medium=0)) == {7}


def test_a_band_without_levels_gives_its_ratio_away_and_none_is_left_without_problems() -> None:
    assert set(drawn(rates(l1=0.5, l2=0.5, l4=0.5, l7=0.0), easy=9)) == {1, 2, 4, 7}
    everything_easy = rates(l1=1.0, l2=1.0, l4=1.0, l7=1.0)
    assert set(drawn(everything_easy, easy=0)) == {1, 2, 4, 7}


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 5), st.integers(0, 5), st.integers(0, 5), st.integers(1, 4))
def test_only_ratios_matter(easy: int, medium: int, hard: int, times: int) -> None:
    memory = rates(l1=1.0, l2=0.5, l4=0.5, l7=0.0)
    one = drawn(memory, count=40, easy=easy, medium=medium, hard=hard)
    assert sum(one.values()) == 40
    if hard == 0 and easy + medium:
        assert one[7] == 0
    if times > 1 and easy + medium + hard:
        assert set(one) <= set(drawn(memory, count=200, easy=easy * times, medium=medium * times, hard=hard * times))


def test_a_refill_continues_the_draws_of_the_step() -> None:
    def levels(first: int, count: int) -> list[int]:
        found = banded(rates(l1=1.0), first, count, pool=POOL, easy=1, medium=1, hard=1, **BOUNDS)
        return [problem.level for problem in found]

    assert levels(0, 5) + levels(5, 7) == levels(0, 12)


def test_older_steps_count_less_and_only_verdicts_count() -> None:
    """Two of four, then one of one at 0.5: (0.5 * 2 + 1) / (0.5 * 4 + 1) = 2/3."""
    first = rated(Memory(3), episodes=answers(2, [True, True, False, False, None]), keep=0.5)
    assert first.store(STORE) == {"tiny:2": [2.0, 4.0]}
    second = rated(first, episodes=answers(2, [True]) + answers(4, [False]), keep=0.5)
    assert second.store(STORE) == {"tiny:2": [2.0, 3.0], "tiny:4": [0.0, 1.0]}
    assert rated(second, episodes=answers(7, [None]), keep=0.5).store(STORE) == second.store(STORE)


def test_the_mix_names_tasks_that_exist_and_the_staged_one_begins_with_easy_levels() -> None:
    assert set(ENIGMATA.tasks) <= set(TASKS) and len(ENIGMATA.tasks) == 6
    sources = [stage.mechanism.source for stage in ENIGMATA_STAGED.stages[1:] if stage.mechanism]
    assert all(isinstance(source, DifficultyMix) for source in sources)
    assert [(s.easy, s.medium, s.hard) for s in sources if isinstance(s, DifficultyMix)] == [
        (3, 1, 0),
        (1, 3, 1),
        (1, 1, 3),
    ]


@pytest.mark.slow
def test_a_run_resumes_with_the_rates_that_it_had() -> None:
    recipe = recipe_of(
        "enigmata", max_new=4, num_prompts=4, group_size=2, num_steps=4, learning_rate=0.01, warmup_steps=0
    )
    memory = require_resumable(
        recipe, lambda: policy("fp32", vocab=4, init_std=0.1), after=2, pool=POOL, codec=Letters()
    )
    assert sum(tried for _, tried in memory.store(STORE).values()) > 0
