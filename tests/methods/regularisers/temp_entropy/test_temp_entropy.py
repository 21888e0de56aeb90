"""Temperatures on a line over a stage, and one that holds the entropy: by hand, for all values, and in runs."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kl_runs import small
from tiny import episode, policy, register, require_resumable, run, segment

from assay.ask import AnnealTemperature, Sampling
from assay.ask.temperature import anneal_temperature
from assay.errors import ConfigError
from assay.memory import Memory
from assay.methods.regularisers.temp_entropy.heat import STORE, HeatToEntropy, heat_to_entropy, heated, seen_entropy
from assay.recipe import Recipe, Stage, check
from assay.types import Episode, Origin, Request

SAMPLING = Sampling(max_new=8, temperature=1.0)


@pytest.fixture(autouse=True)
def task(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def requests(*temperatures: float) -> list[Request]:
    return [episode([1], temperature=t).request for t in temperatures]


def at(step: int, **changes: Any) -> list[float]:
    values: dict = {"since": 10, "until": 15, "first": 0.6, "last": 1.0, **changes}
    return [r.temperature for r in anneal_temperature(requests(1.0, 0.0), Memory(0, step=step), **values)]


def test_a_line_over_the_steps_of_a_stage_by_hand() -> None:
    """Steps 10 to 14 of a stage: 0.6, 0.7, 0.8, 0.9, 1.0; what is greedy stays so."""
    assert [at(step)[0] for step in range(10, 15)] == pytest.approx([0.6, 0.7, 0.8, 0.9, 1.0])
    assert {at(step)[1] for step in range(10, 15)} == {0.0}
    assert at(7)[0] == 0.6 and at(99)[0] == 1.0, "a stage that began early waits, one that goes on stays"
    assert at(10, until=11)[0] == 0.6, "a stage of one step"


@given(first=st.floats(0.1, 2), last=st.floats(0.1, 2), since=st.integers(0, 9), steps=st.integers(1, 50), at=st.data())
def test_the_line_stays_between_its_ends_and_never_turns(
    first: float, last: float, since: int, steps: int, at: st.DataObject
) -> None:
    step = at.draw(st.integers(0, since + steps + 5))
    values = {"since": since, "until": since + steps, "first": first, "last": last}
    here, later = (
        anneal_temperature(requests(1.0), Memory(0, step=s), **values)[0].temperature for s in (step, step + 1)
    )
    low, high = sorted((first, last))
    assert low - 1e-9 <= here <= high + 1e-9 and (later - here) * (last - first) >= -1e-12


def of_entropy(*values: float, temperature: float = 1.0, **changes: Any) -> Episode:
    told = segment([1] * len(values), entropy=np.array(values, np.float32))
    return episode([told], temperature=temperature, **changes)


def moved(memory: Memory, episodes: Sequence[Episode], **changes: float) -> Memory:
    values: dict = {"target": 0.5, "rate": 2.0, "least": 0.6, "most": 1.4, **changes}
    return heat_to_entropy(memory, episodes=episodes, sampling=SAMPLING, **values)


def test_the_temperature_moves_with_the_distance_from_the_target_by_hand() -> None:
    """exp(2 (0.5 - 0.4)) = exp(0.2); back by the same distance; then far below and far above, up to the bounds."""
    memory = moved(Memory(0), [of_entropy(0.3, 0.5)])
    assert memory.store(STORE)["temperature"] == pytest.approx(math.exp(0.2))
    memory = moved(memory, [of_entropy(0.6, 0.6)])
    assert memory.store(STORE)["temperature"] == pytest.approx(1.0)
    assert moved(memory, [of_entropy(0.0)], rate=9.0).store(STORE)["temperature"] == 1.4
    assert moved(memory, [of_entropy(5.0)], rate=9.0).store(STORE)["temperature"] == 0.6
    asked = heated(requests(1.0, 0.0), Memory(0).keep(STORE, {"temperature": 0.8}))
    assert [r.temperature for r in asked] == [0.8, 0.0]
    assert [r.temperature for r in heated(requests(0.9, 0.0), Memory(0))] == [0.9, 0.0]


def test_tokens_that_the_policy_did_not_sample_do_not_count() -> None:
    """Of 0.2, 0.4 sampled; 9 greedy, 9 replayed, and one reply whose entropy nobody knows."""
    replied = episode([segment([1], entropy=np.array([0.4], np.float32)), segment([2], origin=Origin.ENV)])
    episodes = [
        of_entropy(0.2),
        replied,
        of_entropy(9.0, temperature=0.0),
        dataclasses.replace(of_entropy(9.0), provenance="replay"),
    ]
    assert seen_entropy(episodes) == pytest.approx(0.3)
    assert seen_entropy(episodes[2:]) is None
    assert moved(Memory(0), episodes[2:]) == Memory(0)


@given(st.lists(st.floats(0, 3), min_size=1, max_size=30), st.floats(0, 3))
def test_the_temperature_stays_within_its_bounds_and_moves_towards_the_target(seen: list[float], target: float) -> None:
    memory, before = Memory(0), 1.0
    for entropy in seen:
        memory = moved(memory, [of_entropy(entropy)], target=target)
        after = memory.store(STORE)["temperature"]
        assert 0.6 <= after <= 1.4
        assert (after - before) * (target - float(np.float32(entropy))) >= 0
        before = after


def test_temperatures_that_cannot_be_are_refused() -> None:
    recipe = small("temp-schedule")
    with pytest.raises(ConfigError, match=r"mechanism\.ask\.0\.first must be above 0, not 0"):
        check(with_parts(recipe, ask=(AnnealTemperature(first=0.0),)))
    with pytest.raises(ConfigError, match=r"least.*got 1.5 and 1.4"):
        check(with_parts(small("temp-entropy"), remember=(HeatToEntropy(least=1.5),)))


def with_parts(recipe: Recipe, **changes: object) -> Recipe:
    return dataclasses.replace(recipe, mechanism=dataclasses.replace(recipe.mechanism, **changes))  # type: ignore[arg-type]


def test_a_run_follows_the_line_of_each_of_its_stages() -> None:
    recipe = small("temp-schedule", num_steps=6)
    down = with_parts(recipe, ask=(AnnealTemperature(first=1.0, last=0.5),)).mechanism
    recipe = dataclasses.replace(recipe, stages=(Stage("up"), Stage("down", mechanism=down)))
    notes, _ = run(recipe, policy("fp32", vocab=4))
    found = [sorted({e.request.temperature for e in step}) for step in notes.episodes]
    assert np.concatenate(found) == pytest.approx([0.6, 0.8, 1.0, 1.0, 0.75, 0.5]), "one temperature a step"
    assert max(stats["policy/sampler_mismatch_max"] for stats in notes.stats) < 1e-4, "old at the same temperature"


def test_a_run_of_the_controller_holds_what_it_measured() -> None:
    """The untrained policy of four letters has an entropy far above 0.3: each step is colder than the one before."""
    recipe = small("temp-entropy", num_steps=4, learning_rate=0.0)
    notes, memory = run(recipe, policy("fp32", vocab=4))
    asked = [step[0].request.temperature for step in notes.episodes]
    assert asked[0] == 1.0 and all(a > b for a, b in zip(asked, asked[1:]))
    for step, before, after in zip(notes.episodes, asked, [*asked[1:], memory.store(STORE)["temperature"]]):
        entropy = seen_entropy(step)
        assert entropy is not None and after == pytest.approx(before * math.exp(0.05 * (0.3 - entropy)))


@pytest.mark.slow
def test_a_stopped_run_goes_on_at_its_temperature() -> None:
    recipe = small("temp-entropy", num_steps=4)
    require_resumable(recipe, lambda: policy("fp32", vocab=4), after=2)
