"""ReTool: outcomes alone, replies out of loss, credit and values, the tool that it needs, and runs with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from in_turns import earning, small_model
from telling import TELLING
from tiny import Letters, policy, recipe_of, register, require_resumable, run

import assay
from assay.credit import advantages
from assay.known import RECIPES
from assay.memory import Memory
from assay.part import bind
from assay.rng import Key
from assay.source import Pool, Share
from assay.types import Origin

RECIPE = RECIPES["retool"]


def test_a_right_answer_has_one_and_any_other_minus_one_however_often_it_computes() -> None:
    (outcome,) = RECIPE.mechanism.reward
    assert (outcome.right, outcome.wrong) == (1.0, -1.0)  # pyright: ignore[reportAttributeAccessIssue]
    assert RECIPE.mechanism.objective.regularise == () and not RECIPE.refers


@given(
    values=st.lists(st.integers(-8, 8).map(lambda n: n / 4), min_size=9, max_size=9),
    reward=st.sampled_from([1.0, -1.0]),
)
def test_advantages_are_the_reward_less_the_value_and_nothing_at_replies(values: list[float], reward: float) -> None:
    """gamma = lambda = 1: A_t = R - V_t for own tokens, whatever a critic says of the tokens of replies."""
    row = earning((0.0, [3, 3]), (0.0, [4]), (0.0, [3]), reward=reward).mark(value=np.array(values, np.float32))
    (found,) = advantages([row], Memory(0), [bind(RECIPE.mechanism.credit)])
    own = row.episode.stream("origin") == Origin.POLICY
    assert found.advantage is not None and found.target is not None
    np.testing.assert_allclose(found.advantage[own], reward - np.array(values)[own], atol=1e-9)
    np.testing.assert_allclose(found.target[own], reward, atol=1e-6)
    assert not found.advantage[~own].any() and not found.target[~own].any()


def test_it_needs_python() -> None:
    (limit,) = RECIPE.mechanism.ask
    assert limit.unfit(Pool((Share("interpreter"),))) is None
    assert "'python'" in str(limit.unfit(Pool((Share("sql-tool"),))))


# Runs


def small(**scale: object) -> Any:
    sizes = {"num_prompts": 16, "num_steps": 4, "warmup_steps": 0, "learning_rate": 0.01, **scale}
    return recipe_of("retool", max_new=6, **sizes)


def engine() -> Any:
    return policy("fp32", decode=Letters().decode)


def test_replies_neither_train_nor_have_a_target(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, TELLING)
    notes, _ = run(small(num_steps=2, num_prompts=48), engine())
    replies = 0
    for (batch,) in notes.batches:
        env = batch.origin == Origin.ENV
        replies += int(env.sum())
        assert not batch.mask[env].any() and not batch.counted[env].any()
        assert batch.target is not None and not batch.target[env].any()
    assert replies > 5


@pytest.mark.slow
def test_a_stopped_run_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, TELLING)
    require_resumable(small(), engine, after=2)


@pytest.mark.deep
def test_it_learns_to_use_the_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, TELLING)
    notes, _ = run(small(num_steps=90, num_prompts=64, learning_rate=0.014), engine())
    accuracy = notes.accuracy()
    assert np.mean(accuracy[-6:]) > np.mean(accuracy[:3]) + 0.15


@pytest.mark.deep
@pytest.mark.external("sandbox")
@pytest.mark.parametrize("recipe", ["retool", "verltool"])
def test_a_run_with_an_interpreter(tmp_path: Path, recipe: str) -> None:
    sizes: dict[str, Any] = {
        "scale": {"group_size": 1 if recipe == "retool" else 2, "num_prompts": 4, "max_new": 24},
        "machine": {"hosts": 1},
        "evaluation": {"num_problems": 2, "num_samples": 2},
    }
    where = {"model": small_model(tmp_path, Key("small")), "run": tmp_path / "run"}
    made = assay.train(recipe, task="interpreter", levels=[1], steps=2, quiet=True, **where, **sizes)
    assert made.steps == 2 and all(row.get("world/faults", 0) == 0 for row in made.metrics())
