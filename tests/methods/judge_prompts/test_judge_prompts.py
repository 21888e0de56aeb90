"""Judges as rewards in runs: what is written down of them, and what a fault of theirs does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fake_judge import Act, plain, serving

from assay.errors import EndpointError
from assay.lab.trial import small_run
from assay.record.rollouts import read_rollouts
from assay.verifiers.judges.endpoint import KEY, URL


@pytest.mark.slow
def test_a_run_by_pairs_has_wins_that_average_one_half_and_shows_no_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY, "sk-very-secret")
    with serving(plain) as server:
        monkeypatch.setenv(URL, server.url)
        run = small_run("judge-prompts", tmp_path)
        assert set(server.keys) == {"Bearer sk-very-secret"}
    for record in run.metrics():
        assert record["reward/mean"] == pytest.approx(0.5)
    written = [path for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert written and not [path for path in written if b"very-secret" in path.read_bytes()]


@pytest.mark.slow
def test_faults_of_the_judge_mask_answers_and_a_judge_that_is_gone_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.verifiers.judges.client.PAUSE", 0.0)
    monkeypatch.setattr("assay.verifiers.judges.client.BASE", 0.0)

    def now_and_then(count: int, asked: dict[str, Any]) -> Act:
        lost = len(asked["messages"][1]["content"]) % 3 == 0 and "What is 2 + 2?" not in json.dumps(asked)
        return Act(text="no idea") if lost else plain(count, asked)

    with serving(now_and_then) as server:
        monkeypatch.setenv(URL, server.url)
        run = small_run("judge-single", tmp_path / "half")
        records = list(run.metrics())
        failed = sum(record["reward/verifier_failed"] for record in records)
        assert 0 < failed < sum(record["rollouts"] for record in records)
        table = read_rollouts(next((tmp_path / "half" / "run").rglob("step-*.parquet")))
        pairs = zip(table["reward"], table["in_loss"], strict=True)
        assert all((reward is None) == (not trains) for reward, trains in pairs)

    with serving(lambda count, asked: plain(count, asked) if count < 2 else Act(status=503)) as server:
        monkeypatch.setenv(URL, server.url)
        with pytest.raises(EndpointError, match="graded none"):
            small_run("judge-single", tmp_path / "gone")


def test_a_run_without_a_judge_is_refused_before_its_model_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving([Act(text="yes")]) as server:
        monkeypatch.setenv(URL, server.url)
        monkeypatch.setattr("assay.verifiers.judges.client.BASE", 0.0)
        with pytest.raises(EndpointError, match="does not grade"):
            small_run("judge-prompts", tmp_path)
    assert not (tmp_path / "run").exists()
