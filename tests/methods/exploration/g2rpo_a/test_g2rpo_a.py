"""The length of the guidance by hand and for all series, who is guided, what trains, and runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from learning_draws import shown
from tiny import episode, recipe_of, require_resumable, run
from worded import helped
from worked import POOL, TASK, Signs, beginner, register

from assay.ask import Sampling, first_requests
from assay.errors import ConfigError, DataError
from assay.memory import Memory
from assay.methods.exploration.g2rpo_a.guidance import GUIDED, STORE, GuideAnswers, adapt_guidance, guide_answers
from assay.part import bind
from assay.recipe import Recipe, check
from assay.rng import Key
from assay.types import Episode, Origin, Request

PROBLEM = TASK.problem(Key(0), level=3)


@pytest.fixture(autouse=True)
def task(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def requests(samples: int = 12, max_new: int = 8) -> list[Request]:
    return first_requests(
        [PROBLEM], Memory(0), first=0, samples=samples, sampling=Sampling(max_new=max_new), codec=Signs()
    )


def answers(*rights: bool | None) -> list[Episode]:
    return [episode([1], sample=i, reward=None if r is None else float(r)) for i, r in enumerate(rights)]


def adapted(memory: Memory, episodes: Sequence[Episode], longest: int = 100) -> Memory:
    return adapt_guidance(memory, episodes=episodes, longest=longest, window=3, grow=1.25)


def lengths(*rates: float, start: float = 40.0) -> list[float]:
    """Of steps of ten answers with these pass rates."""
    memory, found = Memory(0).keep(STORE, {"length": start, "rates": []}), []
    for rate in rates:
        memory = adapted(memory, answers(*(i < 10 * rate for i in range(10))))
        found.append(memory.store(STORE)["length"])
    return found


def test_the_rule_by_hand() -> None:
    """40; then mean(0.4, 0.2) / 0.2 = 1.5: 60; mean(0.4, 0.2, 0.6) / 0.6 = 2/3: 40; then the window moves:
    mean(0.2, 0.6, 0.1) / 0.1 = 3 and the bound of 100; without a right answer a quarter more, up to the bound.
    """
    assert lengths(0.4, 0.2, 0.6, 0.1) == pytest.approx([40, 60, 40, 100])
    assert lengths(0.0, 0.0) == pytest.approx([50, 62.5])
    assert lengths(0.1, 1.0, start=1.5)[-1] == 1.0, "at least one token"


def test_guided_answers_and_errors_of_ours_count_nowhere() -> None:
    guided = [dataclasses.replace(e, request=helped(e.request)) for e in answers(True, True)]
    memory = adapted(Memory(0), [*guided, *answers(True, False, None)])
    assert memory.store(STORE) == {"length": 100.0, "rates": [0.5]}
    assert adapted(memory, [*guided, *answers(None)]) == memory


@given(st.lists(st.integers(0, 10), min_size=1, max_size=12))
def test_the_length_stays_within_its_bounds_and_falls_when_the_rate_is_the_best_so_far(tenths: list[int]) -> None:
    found = lengths(*(n / 10 for n in tenths))
    assert all(1 <= length <= 100 for length in found)
    for place in range(1, len(tenths)):
        if tenths[place] >= max(tenths[: place + 1]) > 0:
            assert found[place] <= found[place - 1] + 1e-9


def guided(length: float | None, **changes: object) -> list[Request]:
    memory = Memory(0) if length is None else Memory(0).keep(STORE, {"length": length})
    values: dict = {"codec": Signs(), "group_size": 12, "share": 2 / 12, "longest": 4, **changes}
    return guide_answers(values.pop("requests", requests()), memory, **values)


def test_two_of_twelve_begin_with_the_solution() -> None:
    solution = PROBLEM.solution or ""
    made = guided(3.4)
    assert [r.sample for r in made if r.tag == GUIDED] == [10, 11] and len(made) == 12
    (piece,) = made[10].prefix
    assert Signs().decode(piece.ids.tolist()) == solution[:3] and (piece.origin == Origin.INJECTED).all()
    assert made[10].max_new == 5 and made[10].helped and not made[0].helped
    assert len(guided(None)[11].prefix[0]) == 4, "before the first step: the longest"
    whole = guided(99)[11]
    assert Signs().decode(whole.prefix[0].ids.tolist()) == solution and whole.max_new == 8 - len(solution)
    assert len(guided(99, requests=requests(max_new=3))[11].prefix[0]) == 2, "one token is left to write"
    assert not any(r.tag for r in guided(3, share=0.0))
    usual = bind(GuideAnswers(), codec=Signs(), group_size=12)(requests(), Memory(0))
    assert [r.sample for r in usual if r.tag == GUIDED] == [10, 11], "unless told otherwise"


def test_what_cannot_be_guided_is_refused() -> None:
    bare = [dataclasses.replace(r, problem=dataclasses.replace(PROBLEM, solution=None)) for r in requests()]
    with pytest.raises(DataError, match="no worked solution to begin with"):
        guide_answers(bare, Memory(0), codec=Signs(), group_size=12, share=0.5, longest=4)
    recipe = small()
    with pytest.raises(ConfigError, match="share is from 0 to below 1, not 1"):
        mechanism = dataclasses.replace(recipe.mechanism, ask=(GuideAnswers(share=1.0),))
        check(dataclasses.replace(recipe, mechanism=mechanism))


def small(**scale: object) -> Recipe:
    rows = {"num_prompts": 4, "group_size": 6, "num_steps": 4, "learning_rate": 0.01, "warmup_steps": 0}
    return recipe_of("g2rpo-a", max_new=8, **{**rows, **scale})


def test_a_run_trains_the_guidance_and_keeps_its_length() -> None:
    notes, memory = run(small(), beginner(), pool=POOL, codec=Signs())
    assert len(memory.store(STORE)["rates"]) == 3 and 1 <= memory.store(STORE)["length"] <= 6
    (batch,) = notes.batches[0]
    given_tokens = batch.origin == Origin.INJECTED
    assert given_tokens.any() and batch.mask[given_tokens].all(), "they are in the loss"
    rows = np.repeat(np.arange(len(batch)), batch.lengths)
    for row in range(len(batch)):
        own = batch.advantage[rows == row]
        assert np.ptp(own) < 1e-6, "with the advantage of their answer"
    bare = [e for step in notes.episodes for e in step if not e.request.helped]
    assert sum(tried for _, tried in memory.store("pass-rates").values()) == len(bare)


@pytest.mark.slow
@pytest.mark.learning
def test_it_learns_to_answer_without_guidance() -> None:
    recipe = small(num_prompts=8, group_size=8, num_steps=30, learning_rate=0.02)
    notes, _ = run(recipe, beginner(), pool=POOL, codec=Signs())
    bare = [np.mean([e.right for e in step if not e.request.helped]) for step in notes.episodes]
    shown("rise without guidance", np.mean(bare[-5:]) - np.mean(bare[:5]), above=0.2)


@pytest.mark.slow
def test_a_stopped_run_goes_on() -> None:
    require_resumable(small(), beginner, after=2, pool=POOL, codec=Signs())
