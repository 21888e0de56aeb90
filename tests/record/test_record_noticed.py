"""What has happened to a run folder while nobody ran is noticed when it is opened: flipped bits, missing files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from record_runs import IDENTITY, checkpoint_of, save
from small_runs import Shell, copy_of, make_model, train_line

from assay.cli.main import main
from assay.host import failpoint
from assay.record import Best, RunFolder


def written(path: Path, steps: int = 3) -> Path:
    """A run with rollouts, a score and a checkpoint at each step."""
    with RunFolder.create(path, identity=IDENTITY) as run:
        for step in range(1, steps + 1):
            run.write_rollouts(step, {"step": [step]})
            save(run, step, score=step / 10)
    return path


def flip(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


def noticed(path: Path) -> list[str]:
    """What opening it says; read without opening it, the same."""
    found = RunFolder.read_only(path).damage()
    with RunFolder.open(path) as run:
        assert list(run.noticed) == found
    return found


def test_a_run_that_nobody_touched_is_as_it_was(tmp_path: Path) -> None:
    run = written(tmp_path / "run")
    assert noticed(run) == []
    assert "damaged" not in json.loads((run / "run.json").read_text())


def test_a_flipped_bit_in_the_metrics_is_noticed_with_the_steps_between_which_it_is(tmp_path: Path) -> None:
    """`"step":3,"loss":0.333` with a digit of another value is JSON still; steps 2 and 3 have checkpoints."""
    run = written(tmp_path / "run")
    lines = (run / "metrics.jsonl").read_bytes().splitlines(keepends=True)
    flip(run / "metrics.jsonl", len(b"".join(lines[:2])) + lines[2].index(b"333"))
    sentence = "metrics.jsonl was changed after it was written, between the records of steps 2 and 3"
    assert noticed(run) == [sentence]
    with RunFolder.open(run) as again:
        assert again.document["damaged"] == [sentence]
        save(again, 4)
    assert RunFolder.read_only(run).damage(), "a checkpoint that was made before it still vouches for the old bytes"
    assert sentence in RunFolder.read_only(run).document["damaged"], "and when that one is gone, run.json remembers"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["metrics", "evals", "rollouts"])
def test_every_bit_of_a_journal_counts(name: str, tmp_path: Path) -> None:
    run = tmp_path / "run"
    with RunFolder.create(run, identity=IDENTITY) as made:
        made.append("evals", {"step": 1})
        made.write_rollouts(1, {"step": [1]})
        save(made, 1)
    size = (run / f"{name}.jsonl").stat().st_size
    for place in range(size):
        flip(run / f"{name}.jsonl", place)
        assert RunFolder.read_only(run).damage(), place
        flip(run / f"{name}.jsonl", place)
    assert not RunFolder.read_only(run).damage()


def test_a_journal_that_was_cut_is_noticed(tmp_path: Path) -> None:
    run = written(tmp_path / "run")
    lines = (run / "metrics.jsonl").read_bytes().splitlines(keepends=True)
    (run / "metrics.jsonl").write_bytes(b"".join(lines[:2]))
    (sentence,) = RunFolder.read_only(run).damage()
    assert sentence.startswith("metrics.jsonl has ") and "when step 3 was saved" in sentence


def test_rollouts_that_are_gone_or_others_are_noticed(tmp_path: Path) -> None:
    run = written(tmp_path / "run")
    flip(run / "rollouts/step-00000002.parquet", 40)
    assert noticed(run) == ["rollouts/step-00000002.parquet was changed after it was written"]
    (run / "rollouts/step-00000001.parquet").unlink()
    assert noticed(run)[0] == "rollouts/ lacks 1 of 3 files that were written, first of all step-00000001.parquet"
    shutil.rmtree(run / "rollouts")
    assert noticed(run) == ["rollouts/ lacks 3 of 3 files that were written, first of all step-00000001.parquet"]


def test_a_run_without_its_list_of_rollouts_goes_on(tmp_path: Path) -> None:
    run = written(tmp_path / "run")
    (run / "rollouts.jsonl").unlink()
    with RunFolder.open(run) as again:
        assert "rollouts.jsonl has 0 bytes" in again.noticed[0]
        again.rewind(again.load())
        again.write_rollouts(4, {"step": [4]})
        assert save(again, 4)


def test_rollouts_of_steps_that_are_redone_are_listed_once(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with RunFolder.create(run, identity=IDENTITY) as made:
        save(made, 1)
        made.append("metrics", {"step": 2})
        made.write_rollouts(2, {"step": [2]})
    with RunFolder.open(run) as again:
        again.rewind(again.load())
        again.append("metrics", {"step": 2})
        again.write_rollouts(2, {"step": [2]})
        assert [entry["step"] for entry in again.read("rollouts")] == [2]
        again.save(2, tensors={})
    assert noticed(run) == []


def test_a_run_of_an_older_version_has_nothing_to_be_compared_with(tmp_path: Path) -> None:
    """Its checkpoints hold lengths without digests, and there is no list of rollouts."""
    from assay.record import manifest

    run = written(tmp_path / "run")
    (run / "rollouts.jsonl").unlink()
    for folder in (run / "ckpt").glob("step-*"):
        found = json.loads((folder / "MANIFEST.json").read_text())
        found.pop("seal")
        found.pop("journal_digests")
        found["journals"].pop("rollouts")
        (folder / "MANIFEST.json").write_bytes(manifest.seal(found))
    flip(run / "metrics.jsonl", 10)
    assert noticed(run) == []
    with RunFolder.open(run) as again:
        assert again.load() is not None


def test_best_is_right_after_a_kill_between_a_save_and_its_mark(tmp_path: Path) -> None:
    """The manifest of step 2 has the higher score; `BEST`, which people and programs read, must say so too."""
    run = tmp_path / "run"
    with RunFolder.create(run, identity=IDENTITY) as made:
        save(made, 1, score=0.1)
    before = (run / "ckpt/BEST").read_bytes()
    with RunFolder.open(run) as again:
        save(again, 2, score=0.9)
    (run / "ckpt/BEST").write_bytes(before)  # as a kill leaves it
    with RunFolder.open(run):
        assert json.loads((run / "ckpt/BEST").read_text()) == {"step": 2, "score": 0.9}
    (run / "ckpt/BEST").unlink()
    with RunFolder.open(run):
        assert json.loads((run / "ckpt/BEST").read_text()) == {"step": 2, "score": 0.9}


def test_best_is_that_of_the_steps_that_are_left_after_a_rewind(tmp_path: Path) -> None:
    run = written(tmp_path / "run")
    with RunFolder.open(run) as again:
        assert again.best() == Best(3, 0.3)
        again.rewind(again.load(2))
        assert json.loads((run / "ckpt/BEST").read_text()) == {"step": 2, "score": 0.2}


def test_a_best_of_no_checkpoint_is_removed(tmp_path: Path) -> None:
    run = written(tmp_path / "run", steps=1)
    shutil.rmtree(checkpoint_of(RunFolder.read_only(run), 1))
    with RunFolder.open(run):
        assert not (run / "ckpt/BEST").exists()


def test_a_disk_that_refuses_the_mark_leaves_the_run_to_be_opened(tmp_path: Path) -> None:
    run = written(tmp_path / "run")
    (run / "ckpt/BEST").unlink()
    failpoint.arm("best.before_write:enospc:1")
    try:
        with RunFolder.open(run) as again:
            assert again.best() == Best(3, 0.3) and again.failures
    finally:
        failpoint.arm(None)


@pytest.mark.slow
def test_a_resumed_run_and_its_report_say_what_was_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, shell = tmp_path / "run", Shell(capsys)
    assert main([*train_line(make_model(tmp_path / "model"), run), "--quiet"]) == 0
    flipped = copy_of(run, tmp_path / "flipped")
    line = (flipped / "metrics.jsonl").read_bytes()
    flip(flipped / "metrics.jsonl", line.index(b"0."))  # 0 becomes 1
    shutil.rmtree(flipped / "rollouts")
    told = ("metrics.jsonl was changed after it was written", "rollouts/ lacks 2 of 2 files")
    assert shell("report", flipped).code == 0
    page = (flipped / "report.html").read_text()
    assert all(words in page for words in told)
    reply = shell("resume", flipped, "--steps", 5, "--quiet")
    assert reply.code == 0 and all(f"warning: {words}" in reply.err for words in told)
    assert not any(words in (run / "report.html").read_text() for words in told)
