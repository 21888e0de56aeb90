"""When a stage begins, and with which weights, optimiser and memory; the change survives a stop."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tiny import POOL, Letters, episode, models_for, policy, recipe_of, register, require_resumable, run

from assay import stages
from assay.assemble import assemble
from assay.memory import Memory
from assay.recipe import Recipe, Stage
from assay.run.configure import from_data, to_data
from assay.stages import Plateau, Threshold, plateau, threshold


@pytest.fixture(autouse=True)
def letters(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def staged(*stage: Stage, **scale: Any) -> Recipe:
    rows = {"num_prompts": 2, "group_size": 4, "num_steps": 6, "learning_rate": 0.01, "warmup_steps": 0}
    return dataclasses.replace(recipe_of("dr-grpo", max_new=3, **{**rows, **scale}), stages=stage)


def engine() -> Any:
    return policy("fp32", vocab=4)


# Conditions


def high(values: list[float], *, least: float, window: int) -> bool:
    return threshold({"x": values, "y": [9.0] * 99}, metric="x", least=least, window=window)


def flat(values: list[float], *, gain: float, window: int) -> bool:
    return plateau({"x": values}, metric="x", gain=gain, window=window)


def test_conditions_by_hand() -> None:
    assert not high([0.1, 0.9], least=0.5, window=3)
    assert high([0.0, 0.4, 0.6], least=0.5, window=2) and not high([0.0, 0.4, 0.5], least=0.5, window=2)
    assert not flat([0.5] * 3, gain=0.01, window=2) and not flat([0.1, 0.2, 0.3, 0.4], gain=0.01, window=2)
    assert flat([0.5, 0.5, 0.5, 0.51], gain=0.01, window=2)


@given(st.lists(st.floats(0, 1), min_size=8, max_size=20), st.floats(-1, 1), st.integers(1, 4))
def test_a_plateau_does_not_depend_on_the_height(values: list[float], shift: float, window: int) -> None:
    last, before = np.mean(values[-window:]), np.mean(values[-2 * window : -window])
    if abs(last - before - 0.05) > 1e-9:
        moved = [value + shift for value in values]
        assert flat(values, gain=0.05, window=window) == flat(moved, gain=0.05, window=window)


# Entering


def test_shares_decide_where_nothing_else_does() -> None:
    recipe = staged(Stage("a"), Stage("b", share=0.0), Stage("c", share=2.0))
    found = assemble(recipe, pool=POOL, codec=Letters(), micro_tokens=99)
    assert [phases.end for phases in found] == [2, 2, 6]
    models = models_for(recipe, engine())
    where = [stages.current(found, models, Memory(0, step=step))[1].stage for step in range(6)]
    assert where == [0, 0, 2, 2, 2, 2]


@pytest.mark.parametrize(
    ("shares", "steps", "wanted"),
    [
        ([1.0, 2.0], 6, [2, 6]),
        ([6.0, 54.0], 5, [1, 5]),  # a twelfth of the way, which rounds to nothing
        ([54.0, 6.0], 5, [4, 5]),  # and to everything
        ([1.0, 1.0, 98.0], 4, [1, 2, 4]),
        ([98.0, 1.0, 1.0], 4, [2, 3, 4]),
        ([1.0, 0.0, 2.0], 6, [2, 2, 6]),
        ([1.0, 1.0, 1.0], 2, [1, 1, 2]),  # fewer steps than stages: in proportion
        ([1.0], 0, [0]),
    ],
)
def test_every_stage_with_a_share_gets_a_step_where_there_are_so_many(
    shares: list[float], steps: int, wanted: list[int]
) -> None:
    assert stages.ends(shares, steps) == wanted


@given(st.lists(st.sampled_from([0.0, 0.1, 1.0, 7.0]), min_size=1, max_size=6).filter(any), st.integers(0, 40))
def test_ends_of_stages_keep_their_order_and_their_shares(shares: list[float], steps: int) -> None:
    ends = stages.ends(shares, steps)
    spans = np.diff([0, *ends])
    assert ends[-1] == steps and (spans >= 0).all() and not spans[np.array(shares) == 0].any()
    fair, enough = np.round(np.cumsum(shares) / sum(shares) * steps), steps >= sum(share > 0 for share in shares)
    if enough:
        assert (spans[np.array(shares) > 0] > 0).all()
    if not enough or (np.diff([0, *fair])[np.array(shares) > 0] > 0).all():
        assert ends == fair.tolist()


def test_a_condition_brings_a_stage_forward_on_what_was_seen_in_the_stage_before() -> None:
    """Metrics 0.1, 0.6, 0.6: two above one half begin the second stage; the third waits for two of its own."""
    when = Threshold(metric="reward/mean", least=0.5, window=2)
    recipe = staged(Stage("a"), Stage("b", when=when), Stage("c", when=when), num_steps=30)
    found = assemble(recipe, pool=POOL, codec=Letters(), micro_tokens=99)
    models, memory, seen = models_for(recipe, engine()), Memory(0), []
    for value in (0.1, 0.6, 0.6, 0.7, 0.2, 0.8, 0.8):
        _, memory = stages.current(found, models, memory)
        seen.append(memory.stage)
        memory = stages.note(memory, {"reward/mean": value}, ["reward/mean", "missing"])
        memory = dataclasses.replace(memory, step=memory.step + 1)
    assert seen == [0, 0, 0, 1, 1, 1, 2]


def test_the_loop_notes_what_stages_wait_for() -> None:
    when = Threshold(metric="length/mean", least=0.0, window=3)
    recipe = staged(Stage("a", share=4.0), Stage("b", when=when), num_steps=5)
    notes, memory = run(recipe, engine())
    assert memory.stage == 1 and len(memory.store("stage")["length/mean"]) == 2
    assert memory.store("stage")["length/mean"] == [np.mean([len(e) for e in s]) for s in notes.episodes[3:]]


def state_after(recipe: Recipe, number: int) -> tuple[dict, dict]:
    """The policy's state before and after the entry of a stage, once it has learnt something."""
    learner = engine()
    models = models_for(recipe, learner)
    run(staged(Stage(), num_prompts=16), learner)
    before = learner.state()
    found = assemble(recipe, pool=POOL, codec=Letters(), micro_tokens=99)
    memory = Memory(0).keep("pass-rates", {"x": [1, 2]}).keep("part", {"y": 1}).hold("drafts", [episode([1])])
    memory = found[number].enter(models, memory)
    assert memory.stage == number and memory.store("pass-rates") == {"x": [1, 2]}
    kept = recipe.stages[number].memory == "keep"
    assert bool(memory.store("part")) == bool(memory.kept) == kept
    return before, learner.state()


def same(one: dict, other: dict, prefix: str) -> bool:
    names = [name for name in one if name.startswith(prefix)]
    return bool(names) and all(name in other and torch.equal(one[name], other[name]) for name in names)


def test_continue_keeps_weights_and_optimiser() -> None:
    before, after = state_after(staged(Stage(), Stage("b")), 1)
    assert same(before, after, "parameter/") and same(before, after, "optimiser/")


def test_a_reset_keeps_weights_and_drops_the_moments() -> None:
    before, after = state_after(staged(Stage(), Stage("b", optimiser="reset", memory="clear")), 1)
    assert same(before, after, "parameter/") and not any(name.startswith("optimiser/") for name in after)
    assert after["version"] == before["version"] > 0


def test_from_the_base_takes_its_weights_and_drops_the_moments() -> None:
    before, after = state_after(staged(Stage(), Stage("b", start="base")), 1)
    assert same(engine().state(), after, "parameter/") and not same(before, after, "parameter/")
    assert not any(name.startswith("optimiser/") for name in after) and after["version"] == before["version"]


CHANGES = [
    {"start": "base", "memory": "clear"},
    {"optimiser": "reset"},
    {"when": Plateau(metric="length/mean", gain=9.0, window=1)},
]


@pytest.mark.slow
@pytest.mark.parametrize("after", [2, 3])
@pytest.mark.parametrize("change", CHANGES)
def test_a_stop_at_a_change_of_stage_changes_nothing(change: dict, after: int) -> None:
    """After step 3 the stage is due and not yet entered; with the plateau it begins after two steps."""
    require_resumable(staged(Stage(), Stage("b", **change)), engine, after=after)


def test_stages_go_through_json_and_back() -> None:
    for change in CHANGES:
        stage = Stage("b", share=0.25, **change)
        assert from_data(Stage, to_data(stage)) == stage
