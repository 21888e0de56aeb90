"""Kimi k1.5: a squared log-ratio."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from off_policy import Answer, world
from torch import Tensor
from whole_gradients import gradient_of, require_reinforce_with_a_baseline, seeds

from assay.objective import NoRatio, Objective, Open, SequenceSum
from assay.objective.squared_ratio import SquaredRatio


def test_on_policy_a_step_of_kimi_is_reinforce_with_a_baseline() -> None:
    require_reinforce_with_a_baseline(gradient_of("kimi-k1.5"), "dr-grpo", SequenceSum())


@seeds
def test_the_pull_of_the_squared_log_ratio_of_an_answer(seed: int) -> None:
    goal = Objective(ratio=NoRatio(), gate=Open(), aggregate=SequenceSum(), regularise=(SquaredRatio(weight=0.3),))

    def formula(answers: Sequence[Answer]) -> Tensor:
        each = [-a.advantage * a.logp.sum() + 0.15 * (a.logp - a.old).sum() ** 2 for a in answers]
        return torch.stack(each).sum() / len(answers)

    world(seed).require(goal, formula)
