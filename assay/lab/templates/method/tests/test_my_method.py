"""Three steps of training."""

from __future__ import annotations

from pathlib import Path

from assay.lab.trial import small_run, variety


def test_three_steps_of_training(tmp_path: Path) -> None:
    run = small_run("my-method", tmp_path, reward=variety)
    assert [record["step"] for record in run.metrics()] == [1, 2, 3]
    assert any(record.get("policy/grad_norm", 0) > 0 for record in run.metrics())
