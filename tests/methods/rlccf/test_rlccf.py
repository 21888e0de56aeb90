"""RLCCF in a run: three models answer, and each learns."""

from __future__ import annotations

from pathlib import Path

from assay.lab.trial import small_run


def test_three_steps_of_training(tmp_path: Path) -> None:
    """Two groups of four answers for each of three models."""
    run = small_run("rlccf", tmp_path, settings={"scale.max_new": 64})
    assert [record["rollouts"] for record in run.metrics()] == [24.0, 24.0, 24.0]
