"""The exploration reward by hand and for all lengths, and a run in which the critic learns first."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paid import earned, in_turns
from tiny import episode, policy, recipe_of, register, require_resumable, run

from assay.known import recipe
from assay.methods.shaping.rlsp.effort import Effort
from assay.recipe import Recipe, at_profile


@pytest.fixture(autouse=True)
def task(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def small(**scale: object) -> Recipe:
    rows = {"num_prompts": 8, "group_size": 1, "num_steps": 4, "learning_rate": 0.01, "warmup_steps": 0}
    return recipe_of("rlsp", max_new=8, **{**rows, "num_minibatches": 2, **scale})


def test_the_effort_by_hand() -> None:
    """C = 6: answers of 1, 2, 3 and 6 tokens lose 6, 3, 2 and 1, right or wrong; no less than -5 if that is least."""
    answers = [episode([1] * n, reward=float(right), right=right) for n in (1, 2, 3, 6) for right in (True, False)]
    assert earned(Effort(cost=6.0), answers) == [-6.0, -6.0, -3.0, -3.0, -2.0, -2.0, -1.0, -1.0]
    assert earned(Effort(cost=6.0, least=-5.0), answers)[:3] == [-5.0, -5.0, -3.0]
    assert earned(Effort(cost=6.0), [in_turns(3, 40, 0)]) == [-2.0], "the reply of a tool is no effort"
    assert earned(Effort(cost=6.0), [episode([], reward=0.0)]) == [-6.0]


@given(st.integers(1, 200), st.integers(1, 200), st.floats(0.1, 50))
def test_longer_is_never_worth_less_and_ever_less_is_gained(one: int, other: int, cost: float) -> None:
    short, long = sorted((one, other))
    values = earned(Effort(cost=cost, least=-1e9), [episode([1] * n) for n in (short, long, long + 1, long + 2)])
    assert values[0] <= values[1] < values[2] < values[3] < 0
    assert values[3] - values[2] < values[2] - values[1]


def test_the_constant_goes_with_the_limit() -> None:
    """1000 tokens of 4096, so 4 of 16.384."""
    assert recipe("rlsp").mechanism.reward[1] == Effort(cost=1000.0)
    moved, _ = at_profile(recipe("rlsp"), "laptop", max_new=512)
    assert moved.mechanism.reward[1] == Effort(cost=125.0)


@pytest.mark.slow
def test_only_the_critic_learns_first_and_both_rewards_are_paid() -> None:
    engine = policy("fp32", vocab=4)
    notes, memory = run(small(num_steps=100, num_prompts=2), engine)
    assert memory.stage == 1
    first, later = notes.batches[0][0], notes.batches[-1][0]
    assert not first.advantage.any() and later.advantage.any()
    for step in notes.episodes:
        for e in step:
            right, effort = (reward.value for reward in e.rewards)
            assert right == (1.0 if e.right else 0.0 if e.verdict and e.verdict.answer is not None else -0.5)
            assert effort == pytest.approx(-1000 * 8 / 4096 / max(1, len(e)), rel=1e-3)


@pytest.mark.slow
def test_a_stopped_run_goes_on() -> None:
    require_resumable(small(), lambda: policy("fp32", vocab=4), after=2)
