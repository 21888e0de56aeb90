"""Ratios, gates, masks and corrections: the gate table, relatives that are equal on policy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from formulas import surrogate
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import pushes
from torch import Tensor
from trusted import of_ratios, ratios, require_reinforce_on_policy, require_slope

from assay.objective import (
    Bounded,
    Clip,
    Drop,
    Objective,
    Reject,
    SequenceMean,
    SequenceRatio,
    SequenceSum,
    TokenMean,
    Truncate,
)
from assay.objective.gates import bounded, clip

# Gates


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_gate_table_by_autograd(sign: float) -> None:
    """Each gate is the derivative, in units of A, of the loss that its source writes."""

    def two_sided(logp: Tensor, advantage: Tensor) -> Tensor:
        r = logp.exp()
        return torch.maximum(-r.clamp(max=4.0) * advantage, -r.clamp(0.8, 1.2) * advantage)

    require_slope(clip, {"low": 0.2, "high": 0.28, "dual": None}, lambda x, a: surrogate(x.exp(), a, 0.2, 0.28), sign)
    require_slope(clip, {"low": 0.2, "high": 0.2, "dual": 4.0}, two_sided, sign)
    require_slope(bounded, {"least": 0.8, "most": 1.28}, lambda x, a: -x.exp().clamp(0.8, 1.28).detach() * a * x, sign)
    require_slope(bounded, {"least": 0.0, "most": None}, lambda x, a: -x.exp() * a, sign)


# Relatives


ON_POLICY: dict[str, Objective] = {
    "clip": Objective(aggregate=SequenceMean()),
    "clip-higher": Objective(gate=Clip(low=0.2, high=0.28, dual=10.0), aggregate=SequenceMean()),
    "bounded": Objective(gate=Bounded(), aggregate=SequenceMean()),
    "gspo": Objective(ratio=SequenceRatio(), gate=Clip(low=3e-4, high=4e-4), aggregate=SequenceMean()),
    "truncated": Objective(correct=(Truncate(),), aggregate=SequenceMean()),
    "answers-truncated": Objective(correct=(Truncate(level="sequence", normalise=True),), aggregate=SequenceMean()),
    "dropped": Objective(correct=(Drop(low=0.5),), aggregate=SequenceMean()),
    "answers-dropped": Objective(correct=(Drop(level="sequence"),), aggregate=SequenceMean()),
    "geo-rs": Objective(correct=(Reject(by="geometric", low=0.999, high=1.001),), aggregate=SequenceMean()),
    "k3-rs": Objective(correct=(Reject(by="k3", high=1e-3),), aggregate=SequenceMean()),
    "veto": Objective(correct=(Reject(by="least", low=1e-4),), aggregate=SequenceMean()),
}


@pytest.mark.parametrize("name", ON_POLICY)
def test_on_policy_all_of_them_are_reinforce(name: str) -> None:
    require_reinforce_on_policy(ON_POLICY[name])


@settings(max_examples=30, deadline=None)
@given(st.floats(0.2, 5.0), st.sampled_from([-1.0, 1.0]))
@pytest.mark.slow
def test_ratios_of_answers_of_one_token_are_token_ratios(ratio: float, advantage: float) -> None:
    """GSPO of length one is PPO, so is the product."""
    rows, logp = of_ratios([ratio], advantage)
    token = pushes(Objective(gate=Clip(), aggregate=SequenceSum()), rows, logp)
    for of in ("mean", "product"):
        goal = Objective(ratio=SequenceRatio(of=of), gate=Clip(), aggregate=SequenceSum())  # type: ignore[arg-type]
        np.testing.assert_allclose(pushes(goal, rows, logp), token, rtol=1e-6)


@settings(max_examples=30, deadline=None)
@given(ratios, st.sampled_from([-1.0, 1.0]))
@pytest.mark.slow
def test_an_infinite_clip_is_the_plain_weight(values: list[float], advantage: float) -> None:
    rows, logp = of_ratios(values, advantage)
    one = pushes(Objective(gate=Clip(low=1.0, high=1e9), aggregate=TokenMean()), rows, logp)
    np.testing.assert_allclose(
        one, pushes(Objective(gate=Bounded(most=None), aggregate=TokenMean()), rows, logp), rtol=1e-6
    )


@settings(max_examples=30, deadline=None)
@given(ratios, st.randoms(use_true_random=False))
@pytest.mark.slow
def test_what_sees_whole_answers_does_not_see_the_order_of_their_tokens(values: list[float], random: Any) -> None:
    shuffled = list(values)
    random.shuffle(shuffled)
    for ratio, gate in ((SequenceRatio(), Clip(high=9.0)), (SequenceRatio(of="product"), Bounded(most=None))):
        goal = Objective(ratio=ratio, gate=gate, aggregate=SequenceMean())
        found = [pushes(goal, *of_ratios(order, 1.0))[0][0] for order in (values, shuffled)]
        assert found[0] == pytest.approx(found[1], rel=1e-5)
