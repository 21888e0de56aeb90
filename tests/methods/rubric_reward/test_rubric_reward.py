"""A rubric in a run: each criterion is written down for itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.lab.trial import small_run
from assay.record.rollouts import read_rollouts


@pytest.mark.slow
def test_the_reward_of_each_answer_is_the_share_of_the_criteria_that_it_meets(tmp_path: Path) -> None:
    run = small_run("rubric-reward", tmp_path, steps=2, settings={"scale.max_new": 12})
    assert all(record["reward/verifier_failed"] == 0 for record in run.metrics())
    table = read_rollouts(next((tmp_path / "run").rglob("step-*.parquet")))
    columns = [table[f"reward/judge-rubric/criterion-{n}"] for n in (1, 2, 3, 4)]
    judged = 0
    for reward, *met in zip(table["reward/judge-rubric"], *columns, strict=True):
        if None in met:
            assert reward == 0.0  # an answer that says nothing is not judged
        else:
            judged += 1
            assert reward == pytest.approx(sum(met) / 4)
    assert judged
