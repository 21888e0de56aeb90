"""GPPO: a gate that keeps the gradient of clipped tokens."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from trusted import require_reinforce_on_policy, require_slope

from assay.methods.gates.gppo.gate import Preserving, preserving
from assay.objective import Objective, SequenceMean


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_preserving_is_the_slope_of_the_loss_with_a_held_ratio(sign: float) -> None:
    def held(logp: Tensor, advantage: Tensor) -> Tensor:
        r = logp.exp()
        bounds = torch.minimum(torch.maximum(r, 0.8 * r / r.detach()), 1.28 * r / r.detach())
        return torch.maximum(-r * advantage, -bounds * advantage)

    require_slope(preserving, {"low": 0.2, "high": 0.28}, held, sign)


def test_on_policy_gppo_is_reinforce() -> None:
    require_reinforce_on_policy(Objective(gate=Preserving(), aggregate=SequenceMean()))
