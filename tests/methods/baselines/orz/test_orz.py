"""ORZ: PPO's critic with steps of its own."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from partners import small
from tiny import episode, models_for, policy, register, run

from assay.forwards import Critic
from assay.known import RECIPES
from assay.memory import Memory
from assay.objective import SequenceMean
from assay.part import bind
from assay.types import Row


@pytest.fixture(autouse=True)
def letters(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def test_a_critic_takes_steps_of_its_own_number_and_mean() -> None:
    """12 where the policy takes one. The first loss is that of values of 0, R^2 / 2, over rows or over tokens."""
    rows = [Row(episode([1] * n, sample=i, reward=r)) for i, (n, r) in enumerate([(1, 1.0), (3, 0.0)] * 12)]
    recipe = small("orz", num_prompts=24, group_size=1, learning_rate=1e-9)
    own = RECIPES["orz"].mechanism.forwards[0]
    assert isinstance(own, Critic)
    for part, loss in (
        (own, None),
        (dataclasses.replace(own, num_minibatches=1), 1 / 8),
        (dataclasses.replace(own, num_minibatches=1, aggregate=SequenceMean()), 1 / 4),
    ):
        models = models_for(recipe, policy("fp32"))
        assessed = bind(part, scale=recipe.scale, micro_tokens=99)
        _, stats = assessed(rows, models=models, memory=Memory(0))
        assert models["critic"].version == part.num_minibatches
        assert loss is None or stats["critic/loss"] == pytest.approx(loss, rel=1e-4)


@pytest.mark.slow
def test_with_lambda_one_the_advantage_is_the_reward_less_the_value() -> None:
    notes, _ = run(small("orz", num_prompts=8), policy("fp32", init_std=0.1))
    for rows, (batch,) in zip(notes.rows, notes.batches, strict=True):
        raw = np.concatenate([np.full(len(r.episode), r.reward) - r.value for r in rows])  # type: ignore[operator]
        white = (raw - raw.mean()) / (raw.std() + 1e-8)
        if np.ptp(raw) > 1e-6:
            np.testing.assert_allclose(batch.advantage, white, rtol=1e-3, atol=1e-4)
