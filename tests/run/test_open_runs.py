"""Open rows from a file to a trained model, with a scripted judge, and exams on them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import fake_judge
import open_runs
import pytest
from open_runs import rollouts, train
from small_runs import Shell

from assay.part import name_of
from assay.record.folder import RunFolder
from assay.reward import JudgedAlone, JudgedInPairs

JUDGE, WINS = name_of(JudgedAlone), name_of(JudgedInPairs)


@pytest.fixture
def served() -> Iterator[fake_judge.Server]:
    with open_runs.serving() as server:
        yield server


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.chdir(tmp_path)
    open_runs.written(tmp_path)
    return Shell(capsys)


@pytest.mark.slow
def test_exams_on_open_rows_have_reward_means_and_no_pass_rate(
    shell: Shell, served: fake_judge.Server, tmp_path: Path
) -> None:
    trained = shell(*train("grpo", "--mechanism.reward", JUDGE))
    assert trained.code == 0 and "pass@" not in trained.out + trained.err
    assert "no verifier checks 2 of 2 problems" in trained.err
    folder = RunFolder.read_only(tmp_path / "run")
    first, *_, last = [entry for entry in folder.read("evals") if entry["set"] == "test"]
    assert first["pass"] == {} and first["open"] == 2 and 0 <= last["scores"][JUDGE]["mean"] <= 0.8
    assert all(row["verdict"] is None and row["reward"] in (0.0, 0.3, 0.8) for row in rollouts(tmp_path / "run"))
    assert not any("accuracy" in name for name in folder.read("metrics")[0])
    assert folder.best() is not None, "the best checkpoint is that of the highest mean reward"

    found = shell("eval", "run", "--n", 2, "--json")
    assert found.code == 0 and found.document["pass"] == {} and found.document["open"] == found.document["problems"]
    assert set(found.document["scores"]) == {JUDGE}
    table = shell("eval", "run", "--data", "held.jsonl", "--n", 2)
    assert table.code == 0 and f"mean {JUDGE}" in table.out and "pass@" not in table.out
    bare = shell("eval", "model", "--data", "open.jsonl")
    assert bare.code == 64 and "--reward file.py:function" in bare.err


@pytest.mark.slow
def test_wins_among_answers_of_one_model_are_no_score(shell: Shell, served: fake_judge.Server, tmp_path: Path) -> None:
    trained = shell(*train("grpo", "--mechanism.reward", WINS, "--steps", "1", "--scale.num-prompts", "2"))
    assert trained.code == 0 and "no reward rates an answer by itself" in trained.err
    entries = RunFolder.read_only(tmp_path / "run").read("evals")
    assert all(entry["pass"] == {} and "scores" not in entry for entry in entries)
