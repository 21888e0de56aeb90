"""A model's score within right and within wrong answers."""

from __future__ import annotations

import dataclasses
import math

import pytest
from paid import earned
from tiny import episode, policy, recipe_of, register, require_resumable

from assay.methods.shaping.rew_qwen.reward import ModelScore
from assay.types import Verdict


def test_a_score_ranks_within_right_and_within_wrong() -> None:
    """1[right] + sigmoid(s / 2) - 1: (0, 1) for right and (-1, 0) for wrong answers."""
    for score in (-900.0, -2.0, 0.0, 3.0, 900.0, None):
        verdict = dataclasses.replace(Verdict.ok(), scores={"rm": score, "other": 5.0})
        (found,) = earned(ModelScore(alpha=0.5, score="rm"), [dataclasses.replace(episode([1]), verdict=verdict)])
        expected = 1 / (1 + math.exp(-max(-700.0, 0.5 * (score or 0.0)))) - 1
        assert found == pytest.approx(expected) and -1 <= found <= 0


@pytest.mark.slow
def test_a_run_goes_on_bit_for_bit_with_its_reward_model(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)
    values = {"num_prompts": 4, "group_size": 4, "num_steps": 4, "learning_rate": 0.01, "warmup_steps": 0}
    require_resumable(recipe_of("shape-rm", max_new=4, **values), lambda: policy("fp32", init_std=0.1), after=2)
