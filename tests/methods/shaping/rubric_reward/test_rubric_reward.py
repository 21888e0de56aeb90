"""A rubric in a run: the reward of each answer is made of its criteria, which stay apart."""

from __future__ import annotations

import numpy as np
import pytest
from tiny import Letters, policy, recipe_of, register, run

from assay.record.rollouts import rollout_table


def test_the_reward_of_each_answer_is_the_share_of_the_criteria_that_it_meets(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)
    recipe = recipe_of("rubric-reward", num_prompts=6, group_size=4, num_steps=1, learning_rate=1e-2)
    notes, _ = run(recipe, policy("fp32"))
    table = rollout_table(notes.episodes[0], Letters().decode, step=0)
    columns = [table[f"reward/judge-rubric/criterion-{n}"] for n in (1, 2, 3, 4)]
    judged = 0
    for reward, *met in zip(table["reward/judge-rubric"], *columns, strict=True):
        if None in met:
            assert reward == 0.0 and met == [None] * 4  # an empty or cut answer is not judged
        else:
            judged += 1
            assert reward == pytest.approx(np.mean(met))
    assert judged
