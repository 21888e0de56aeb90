"""GEPO: the expectation of a group in a ratio's denominator."""

from __future__ import annotations

import math

import numpy as np
from tiny import episode, pushes, segment

from assay.lab.explain import LIKELIHOOD, explain, on_policy, text
from assay.methods.gates.gepo.ratio import GroupExpectation
from assay.objective import Clip, Objective, SequenceSum
from assay.types import Origin, Row


def test_the_expectation_of_a_group_by_hand() -> None:
    """Likelihoods 0.5 and 0.25 of the sampler: E = (0.25 + 0.0625) / 0.75 = 5/12; of the policy 0.5, 0.5: 1.2 both. A
    row without a trained token is not in it.
    """
    told = [np.log([0.5, 0.5]), np.log([0.25]), np.log([0.9])]
    pieces = [[segment([1] * len(mu), mu=mu.astype("f"))] for mu in told]
    pieces[2] = [segment([1], origin=Origin.ENV)]
    rows = [Row(episode(p, group="g", sample=i)).mark(advantage=np.ones(len(p[0]))) for i, p in enumerate(pieces)]
    logp = {row.episode.request.id: [math.log(0.5)] * len(row.episode) for row in rows}
    for gate, expected in ((Clip(low=0.2, high=0.3), 1.2), (Clip(low=0.2, high=0.1), 0.0)):
        goal = Objective(ratio=GroupExpectation(), gate=gate, anchor="sampler", aggregate=SequenceSum())
        found = pushes(goal, rows, logp)
        np.testing.assert_allclose([*found[0], *found[1]], [expected / 3] * 3, rtol=1e-6)


def test_the_push_against_an_expectation_depends_on_the_likelihood() -> None:
    found = on_policy(Objective(ratio=GroupExpectation(), gate=Clip()))
    assert found == {"right": 1, "wrong": 1, "depends": [LIKELIHOOD]}


def test_gepo_is_not_said_to_push_alike_whatever_the_answers() -> None:
    """As its note says: an answer likelier than its group's expectation has a ratio above 1 on policy."""
    found = text(explain("gepo"))
    assert "it depends on how likely the answers are" in found and "The ratio is not 1 on policy" in found
