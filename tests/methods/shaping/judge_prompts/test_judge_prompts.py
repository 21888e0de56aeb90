"""Judges as rewards in runs: what is written down of them, and what a fault of theirs does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fake_judge import Act, plain, serving
from tiny import policy, recipe_of, register, run

from assay.errors import EndpointError
from assay.lab.trial import small_run
from assay.types import Episode
from assay.verifiers.judges.endpoint import KEY, URL

SIZES = {"num_prompts": 6, "group_size": 4, "num_steps": 2, "learning_rate": 1e-2}


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)
    monkeypatch.setattr("assay.verifiers.judges.client.PAUSE", 0.0)
    monkeypatch.setattr("assay.verifiers.judges.client.BASE", 0.0)


def trained(name: str) -> tuple[list[Episode], list[Any]]:
    """All episodes and rows of a run with the task of letters."""
    notes, _ = run(recipe_of(name, **SIZES), policy("fp32"))
    return [e for step in notes.episodes for e in step], [row for step in notes.rows for row in step]


def test_wins_within_a_group_average_one_half() -> None:
    episodes, _ = trained("judge-prompts")
    assert len({episode.reward for episode in episodes}) > 2
    for group in {episode.request.group for episode in episodes}:
        wins = [episode.reward for episode in episodes if episode.request.group == group]
        assert sum(win for win in wins if win is not None) == pytest.approx(len(wins) / 2)


@pytest.mark.slow
def test_answers_on_which_the_judge_fails_neither_train_nor_count(monkeypatch: pytest.MonkeyPatch) -> None:
    def now_and_then(count: int, asked: dict[str, Any]) -> Act:
        return Act(text="no idea") if len(json.dumps(asked)) % 2 else plain(count, asked)

    with serving(now_and_then) as server:
        monkeypatch.setenv(URL, server.url)
        episodes, rows = trained("judge-single")
    lost = [episode for episode in episodes if episode.reward is None]
    assert 0 < len(lost) < len(episodes)
    assert {part.invalid for episode in lost for part in episode.rewards} == {"judge_garbage"}
    for row in rows:
        assert row.in_loss == row.in_group == row.in_denominator == (row.reward is not None)


def test_a_judge_that_is_gone_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving([Act(status=503)]) as server:
        monkeypatch.setenv(URL, server.url)
        with pytest.raises(EndpointError, match="scored none"):
            trained("judge-single")


def test_a_run_without_a_fair_judge_is_refused_before_its_model_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving([Act(text="yes")]) as server:
        monkeypatch.setenv(URL, server.url)
        with pytest.raises(EndpointError, match="does not judge"):
            small_run("judge-prompts", tmp_path)
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_no_file_of_a_run_has_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, "sk-very-secret")
    with serving(plain) as server:
        monkeypatch.setenv(URL, server.url)
        small_run("judge-prompts", tmp_path)
        assert set(server.keys) == {"Bearer sk-very-secret"}
    written = [path for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert written and not [path for path in written if b"very-secret" in path.read_bytes()]
