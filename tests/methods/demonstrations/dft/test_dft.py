"""DFT: imitation weighed by the probability."""

from __future__ import annotations

import math

import numpy as np
import pytest
from demonstrated import learnt
from tiny import END, episode, segment
from worked import register

from assay.known import RECIPES
from assay.lab.explain import LIKELIHOOD, on_policy
from assay.types import Origin, Row


@pytest.fixture(autouse=True)
def worked(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def test_dft_weighs_by_the_probability() -> None:
    """A mean over all five tokens of -pi log pi with pi held: one update, two demonstrations."""
    rows = [
        Row(episode([segment(ids, origin=Origin.INJECTED)], sample=i, group=f"g{i}", reward=1.0, provenance="teacher"))
        for i, ids in enumerate(([1, END], [1, 2, END]))
    ]
    found = learnt("dft", rows, [[-0.1, -3.0], [-1.0, -2.0, -0.5]])
    np.testing.assert_allclose(np.concatenate(found), -np.exp([-0.1, -3.0, -1.0, -2.0, -0.5]) / 5, rtol=1e-5)


def test_the_push_of_dft_depends_on_the_likelihood() -> None:
    found, likely = on_policy(RECIPES["dft"].mechanism.objective), round(math.exp(-1), 6)
    assert found == {"right": likely, "wrong": likely, "depends": [LIKELIHOOD]}
