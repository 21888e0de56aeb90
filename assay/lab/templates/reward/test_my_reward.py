"""The reward by hand, what holds of it for any text, and three steps of training."""

from __future__ import annotations

from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.lab.templates.reward.my_reward import my_reward
from assay.lab.trial import small_run


def test_answers_by_hand() -> None:
    answers = ["4*6=24", "24 or 25", "many", [{"role": "assistant", "content": "so it is 24"}]]
    assert my_reward(answers, target=[24, 24, 24, 24]) == [1.0, 0.1, 0.0, 1.0]


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # a busy machine is no fault
@given(texts=st.lists(st.text(max_size=30), max_size=5), target=st.integers())
def test_each_answer_has_one_reward_from_0_to_1(texts: list[str], target: int) -> None:
    rewards = my_reward(texts, target=[target] * len(texts))
    assert len(rewards) == len(texts) and all(0 <= reward <= 1 for reward in rewards)


def test_three_steps_of_training(tmp_path: Path) -> None:
    run = small_run("grpo", tmp_path, reward=my_reward)
    assert [record["step"] for record in run.metrics()] == [1, 2, 3]
    assert all("reward/my_reward/mean" in record for record in run.metrics())
