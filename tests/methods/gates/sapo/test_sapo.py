"""SAPO: a soft gate."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from trusted import require_reinforce_on_policy, require_slope

from assay.methods.gates.sapo.gate import Soft, soft
from assay.objective import Objective, SequenceMean


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_the_soft_gate_is_the_slope_of_a_sigmoid(sign: float) -> None:
    tau = 1.0 if sign > 0 else 1.05

    def sigmoid(logp: Tensor, advantage: Tensor) -> Tensor:
        return -4 / tau * torch.sigmoid(tau * (logp.exp() - 1)) * advantage

    require_slope(soft, {"up": 1.0, "down": 1.05}, sigmoid, sign)


def test_the_soft_gate_rises_before_it_falls() -> None:
    """Its maximum, where the ratio is about 2.06, is 1.57; far out it closes."""
    w = torch.linspace(0.01, 30, 100001, dtype=torch.float64)
    gate = soft(w, torch.ones_like(w), up=1.0, down=1.05)
    assert float(w[gate.argmax()]) == pytest.approx(2.06, abs=0.01) and float(gate.max()) == pytest.approx(
        1.57, abs=0.01
    )
    assert soft(torch.ones(2), torch.tensor([1.0, -1.0]), up=7.0, down=0.1).tolist() == [1.0, 1.0]
    assert float(gate[-1]) < 1e-10


def test_on_policy_sapo_is_reinforce() -> None:
    require_reinforce_on_policy(Objective(gate=Soft(), aggregate=SequenceMean()))
