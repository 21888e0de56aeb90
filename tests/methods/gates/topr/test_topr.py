"""TOPR: a taper for pushes down."""

from __future__ import annotations

import pytest
import torch
from trusted import require_reinforce_on_policy

from assay.methods.gates.topr.gate import Tapered, tapered
from assay.objective import Objective, SequenceMean, SequenceRatio


def test_the_taper_is_for_pushes_down_alone() -> None:
    w, up, down = torch.tensor([0.2, 1.0, 5.0]), torch.ones(3), -torch.ones(3)
    bounds = {"up_least": 1.0, "up_most": 1.0, "down_least": 0.0, "down_most": 1.0}
    assert tapered(w, up, **bounds).tolist() == [1.0, 1.0, 1.0]
    assert tapered(w, down, **bounds).tolist() == pytest.approx([0.2, 1.0, 1.0])
    assert tapered(w, down, **bounds | {"down_least": 0.5}).tolist() == [0.5, 1.0, 1.0]


def test_on_policy_topr_is_reinforce() -> None:
    require_reinforce_on_policy(
        Objective(ratio=SequenceRatio(of="product"), gate=Tapered(), anchor="sampler", aggregate=SequenceMean())
    )
