"""EMPO: shares of clusters, their logarithms, and what they do to the semantic entropy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from voting import answered

from assay.methods.unlabelled.empo.cluster import Cluster
from assay.part import bind


def earned(part: Cluster, *texts: str) -> list[float]:
    return [found.value for found in bind(part)(answered(*texts))]


def test_shares_by_hand() -> None:
    """What cannot be read is alone."""
    texts = ("x#7", "7", "8", "", "")
    assert earned(Cluster(), *texts) == pytest.approx([0.4, 0.4, 0.2, 0.2, 0.2])
    logs = [math.log(0.4)] * 2 + [math.log(0.2)] * 3
    assert earned(Cluster(form="log-cluster"), *texts) == pytest.approx(logs)


def test_groups_in_which_all_differ_by_hand() -> None:
    assert earned(Cluster(form="log-cluster", apart=0.0), "1", "2", "") == [0.0, 0.0, 0.0]
    assert earned(Cluster(form="log-cluster", apart=0.0), "1", "1", "") != [0.0, 0.0, 0.0]
    assert earned(Cluster(), "1", "2") == pytest.approx([0.5, 0.5])


@given(st.lists(st.floats(-3, 3), min_size=2, max_size=5))
def test_the_expected_gradient_of_the_logarithm_is_that_of_less_entropy(logits: list[float]) -> None:
    """Over answers of probability p: sum p log p (grad log p) = - grad H, because sum p grad log p is 0."""
    z = np.array(logits)
    p = np.exp(z - z.max()) / np.exp(z - z.max()).sum()

    def entropy(z: np.ndarray) -> float:
        q = np.exp(z) / np.exp(z).sum()
        return float(-(q * np.log(q)).sum())

    scores = np.eye(len(p)) - p  # d log p_c / d z
    found = (p * np.log(p)) @ scores
    step = 1e-5
    slopes = [(entropy(z + step * e) - entropy(z - step * e)) / (2 * step) for e in np.eye(len(p))]
    assert found.tolist() == pytest.approx([-slope for slope in slopes], abs=1e-7)
