"""DPPO: which tokens are near to what the sampler said."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from told_views import Told, kept
from trusted import require_reinforce_on_policy

from assay.methods.gates.dppo.near import Near
from assay.objective import Bounded, Objective, SequenceMean


@pytest.mark.parametrize("near", [Near(), Near(kind="kl")])
def test_on_policy_dppo_is_reinforce(near: Near) -> None:
    goal = Objective(gate=Bounded(most=20.0), anchor="sampler", keep=(near,), aggregate=SequenceMean())
    require_reinforce_on_policy(goal)


def test_near_by_hand() -> None:
    """Differences of 0.1, 0.2, -0.2 and of a rare token that is 10 times likelier; KL(0.5, 0.6) = 0.0204,
    KL(0.5, 0.7) = 0.0872, KL(0.5, 0.3) = 0.0872, KL(0.01, 0.1) = 0.0628.
    """
    told = Told([0.6, 0.7, 0.3, 0.1], [0.5, 0.5, 0.5, 0.01], 1.0)
    assert kept(Near(kind="tv"), told) == [True, False, True, True]
    assert kept(Near(kind="tv"), dataclasses.replace(told, advantage=-1.0)) == [True, True, False, True]
    assert kept(Near(kind="kl", low=0.05, high=0.05), told) == [True, False, True, False]
    assert kept(Near(kind="kl", low=0.05, high=0.05), dataclasses.replace(told, advantage=-1.0)) == [
        True,
        True,
        False,
        True,
    ]
    assert kept(Near(kind="tv", low=0.3, high=0.05), told) == [False, False, True, False]
    assert kept(Near(kind="tv", low=0.3, high=0.05), dataclasses.replace(told, advantage=-1.0)) == [
        True,
        True,
        True,
        True,
    ]


def test_what_is_as_far_as_the_bound_is_near() -> None:
    """p = 1/2 of what was certain, and certainty of what was q: in numbers that the machine has exactly."""
    least = 0.5 ** np.arange(1, 3)
    assert kept(Near(kind="tv", low=0.5), Told([0.5, 0.25], [1.0, 1.0], -1.0)) == [True, False]
    gain = 1.0 - np.exp(np.log(least).astype(np.float32).astype(np.float64))
    for place, bound in enumerate(gain.tolist()):
        assert kept(Near(kind="tv", high=bound), Told([1.0, 1.0], least.tolist(), 1.0))[place]
        assert not kept(Near(kind="tv", high=bound - 1e-9), Told([1.0, 1.0], least.tolist(), 1.0))[place]


def test_near_at_the_ends_of_the_scale() -> None:
    """A token that cannot be lost any more, and one that was certain."""
    assert kept(Near(kind="kl"), Told([1.0, 1e-30], [0.5, 1.0 - 1e-7], 1.0)) == [False, True]
    assert kept(Near(kind="kl"), Told([1.0, 1e-30], [0.5, 1.0 - 1e-7], -1.0)) == [True, False]
