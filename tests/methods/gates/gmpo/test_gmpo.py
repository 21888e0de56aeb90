"""GMPO: the geometric mean of an answer's ratios."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import pushes
from trusted import of_ratios, ratios, require_reinforce_on_policy

from assay.methods.gates.gmpo.gate import Geometric
from assay.objective import Bounded, Clip, Objective, SequenceMean, SequenceRatio, SequenceSum, TokenMean


def test_on_policy_gmpo_is_reinforce() -> None:
    require_reinforce_on_policy(Objective(gate=Geometric(), aggregate=SequenceMean()))


@settings(max_examples=30, deadline=None)
@given(st.floats(0.2, 5.0), st.sampled_from([-1.0, 1.0]))
@pytest.mark.slow
def test_gmpo_of_answers_of_one_token_is_a_clip_of_the_log_ratio(ratio: float, advantage: float) -> None:
    rows, logp = of_ratios([ratio], advantage)
    low, high = 1 - math.exp(-0.4), math.exp(0.4) - 1
    clipped = pushes(Objective(gate=Clip(low=low, high=high), aggregate=SequenceSum()), rows, logp)
    np.testing.assert_allclose(
        pushes(Objective(gate=Geometric(), aggregate=SequenceSum()), rows, logp), clipped, rtol=1e-6
    )


@settings(max_examples=30, deadline=None)
@given(ratios, st.sampled_from([-1.0, 1.0]))
@pytest.mark.slow
def test_an_unclipped_geometric_mean_is_gspo_without_its_clip(values: list[float], advantage: float) -> None:
    rows, logp = of_ratios(values, advantage)
    mean = pushes(Objective(ratio=SequenceRatio(), gate=Bounded(most=None), aggregate=TokenMean()), rows, logp)
    free = pushes(Objective(gate=Geometric(low=9.0, high=9.0), aggregate=TokenMean()), rows, logp)
    np.testing.assert_allclose(mean, free, rtol=1e-5)
