"""Clip and delta: the reward of the recipe by hand, its bound, and three steps of training."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import END, episode, policy, recipe_of, register, require_resumable, segment

from assay.collect.trees import branch
from assay.curate.continued import CONTINUATION
from assay.known import RECIPES
from assay.lab.trial import small_run
from assay.memory import Memory
from assay.part import bind
from assay.reward import SampledSteps, Squashed
from assay.types import Episode, Verdict

FIRST = episode([segment([1, 2, 3, 4, 1, 2, END], node="0")], reward=1.0)


def continued(at: int, right: int, wrong: int, *, of: Episode = FIRST) -> list[Episode]:
    found = []
    for i in range(right + wrong):
        request = dataclasses.replace(branch(of, at, sample=i), tag=CONTINUATION)
        own = episode([*request.prefix, segment([END])], reward=float(i < right))
        found.append(dataclasses.replace(own, request=request))
    return found


def with_exact_scores(part: Any) -> Any:
    """The reward with the share of right continuations in the place of what the step model says of it."""
    if isinstance(part, Squashed):
        return SampledSteps(estimate="soft", last=True)
    return dataclasses.replace(part, of=with_exact_scores(part.of))


def earned(episodes: list[Episode]) -> tuple[float, dict[int, float]]:
    """What the first answer earns at its end, and at the ends of its steps, if the step model were right."""
    outcome, dense = RECIPES["clip-delta"].mechanism.reward
    dense = with_exact_scores(dense)
    success, steps = (bind(part)(episodes, memory=Memory(0), max_new=8)[0] for part in (outcome, dense))
    assert success is not None and steps is not None and steps.values is not None and steps.at is not None
    return success.value, dict(zip(steps.at.tolist(), steps.values.tolist(), strict=True))


def test_four_steps_by_hand() -> None:
    """Scores 1/4, 3/4, 0 and success: clipped -1/4, 0, -1/2, 0; differences -1/4 - 0, 0 + 1/2, -1/2, and nothing."""
    success, steps = earned([FIRST, *continued(1, 1, 3), *continued(3, 3, 1), *continued(5, 0, 2)])
    assert success == 1.0
    assert steps == pytest.approx({0: 0.05 * -0.25, 2: 0.05 * 0.5, 4: 0.05 * -0.5, 6: 0.0})


def test_the_last_step_of_a_wrong_answer_has_nothing() -> None:
    """Scores 3/4, 1/4, 0: clipped 0, -1/4, -1/2; differences 0 + 1/4, then -1/4 itself, and nothing for the last, of
    which the outcome says enough.
    """
    wrong = dataclasses.replace(FIRST, verdict=Verdict.fail("wrong"), rewards=())
    success, steps = earned([wrong, *continued(1, 3, 1, of=wrong), *continued(3, 1, 3, of=wrong)])
    assert success == 0.0
    assert steps == pytest.approx({0: 0.05 * 0.25, 2: 0.05 * -0.25, 6: 0.0})


@given(st.dictionaries(st.integers(1, 6), st.tuples(st.integers(0, 3), st.integers(1, 3))))
def test_what_is_to_come_at_a_step_is_its_own_clipped_score(places: dict[int, tuple[int, int]]) -> None:
    """However many steps follow: a sum that telescopes, never above 0 and never below -1/2, times the weight."""
    _, steps = earned([FIRST, *(e for at, counts in places.items() for e in continued(at, *counts))])
    assert sorted(steps) == sorted({at - 1 for at in places} | {6})
    for at, (right, wrong) in places.items():
        ahead = sum(value for place, value in steps.items() if place >= at - 1)
        assert ahead == pytest.approx(0.05 * min(right / (right + wrong) - 0.5, 0.0), abs=1e-12)


def test_five_steps_of_training(tmp_path: Path) -> None:
    """One in which the step model learns from continuations, then four of the policy, which needs none."""
    first, *later = small_run("clip-delta", tmp_path, steps=5).metrics()
    assert first["reward-model/loss"] == pytest.approx(np.log(2)) and "policy/grad_norm" not in first
    for record in later:
        assert record["rollouts"] <= first["rollouts"] and np.isfinite(record["policy/grad_norm"])


@pytest.mark.slow
def test_a_run_goes_on_bit_for_bit_with_its_reward_model(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)
    values = {"num_prompts": 4, "group_size": 4, "num_steps": 4, "learning_rate": 0.01, "warmup_steps": 0}
    require_resumable(recipe_of("clip-delta", max_new=4, **values), lambda: policy("fp32", init_std=0.1), after=2)
