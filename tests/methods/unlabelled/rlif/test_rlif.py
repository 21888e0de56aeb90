"""Intuitor in a run: its reward is computed before the first step and in it, and its KL is the paper's."""

from __future__ import annotations

from pathlib import Path

from assay.known import RECIPES
from assay.lab.trial import small_run
from assay.objective import KL


def test_three_steps_of_training(tmp_path: Path) -> None:
    """An untrained model is hardly surer than the uniform policy, and so its KL to that is small."""
    run = small_run("rlif", tmp_path)
    for record in run.metrics():
        assert 0 < record["reward/mean"] < 0.1 and record["policy/grad_norm"] > 0


def test_the_policy_is_held_to_the_reference() -> None:
    assert RECIPES["rlif"].mechanism.objective.regularise == (KL(weight=0.005, estimator="k3"),)
