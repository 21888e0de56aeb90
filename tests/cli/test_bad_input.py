"""Bad models, bad folders, bad disks and impatient people: a clear message, the right exit code, and nothing lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tiny
from safetensors.numpy import load_file, save_file
from small_runs import ROOT, STEPS, Reply, Shell, came_to, copy_of, make_model, steps_of, train_line

from assay.cli.main import main
from assay.engine.choose import engine_for
from assay.engine.local import LocalEngine
from assay.host import failpoint
from assay.record.folder import RunFolder


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("model") / "small")


@pytest.fixture(scope="module")
def calm(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nothing disturbed."""
    path = tmp_path_factory.mktemp("runs") / "calm"
    assert main([*train_line(model, path), "--quiet"]) == 0
    return path


@pytest.fixture
def armed() -> Iterator[Callable[[str | None], None]]:
    yield failpoint.arm
    failpoint.arm(None)


def refused(reply: Reply, code: int, *words: str) -> None:
    """One JSON error with this code and these words, no traceback, and the same for people."""
    assert reply.code == code, reply.err
    document = reply.document
    assert document["code"] == code
    for word in words:
        assert word in document["message"], document["message"]
    assert reply.err.endswith(f"{document['error']}: {document['message']}\n")
    assert "Traceback" not in reply.err


# --- models -------------------------------------------------------------------------------------------------


def edit_config(**changes: object) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        found = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(found | changes))

    return edit


def edit_weights(change: Callable[[dict[str, Any]], None]) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        weights = load_file(folder / "model.safetensors")
        change(weights)
        save_file(weights, folder / "model.safetensors")

    return edit


def poison(weights: dict[str, Any]) -> None:
    weights["model.norm.weight"][3] = float("nan")


def drop(weights: dict[str, Any]) -> None:
    del weights["model.norm.weight"]


def double(weights: dict[str, Any]) -> None:
    weights["model.norm.weight"] *= 2


def garble_config(folder: Path) -> None:
    (folder / "config.json").write_text("{")


def remove(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def cut_weights(folder: Path) -> None:
    os.truncate(folder / "model.safetensors", 1000)


BAD_MODELS: dict[str, tuple[int, str, Callable[[Path], None]]] = {
    "no config": (74, "has no config.json", remove("config.json")),
    "no weights": (74, "safetensors", remove("model.safetensors")),
    "no tokenizer": (74, "has no tokenizer.json", remove("tokenizer.json")),
    "config that is no JSON": (74, "config.json cannot be read as JSON", garble_config),
    "field that we do not know": (78, "sliding_moon", edit_config(sliding_moon=7)),
    "family that we do not know": (78, "mumble", edit_config(model_type="mumble", architectures=["MumbleForCausalLM"])),
    "vocabulary of another tokenizer": (78, "do not belong together", edit_config(vocab_size=50)),
    "shape of another model": (64, "wrong shapes: model.embed_tokens.weight", edit_config(hidden_size=32)),
    "weights that are not finite": (64, "not finite", edit_weights(poison)),
    "tensor that is missing": (64, "model.norm.weight", edit_weights(drop)),
    "weights cut short": (74, "model.safetensors", cut_weights),
}


@pytest.mark.parametrize("case", BAD_MODELS)
def test_a_broken_model_folder_is_refused_before_a_run_begins(
    shell: Shell, model: Path, tmp_path: Path, case: str
) -> None:
    code, says, harm = BAD_MODELS[case]
    folder = copy_of(model, tmp_path / "broken")
    harm(folder)
    refused(shell("sample", folder, "C 3 4=7", "--max-new", 4, "--json"), code, says)
    refused(shell(*train_line(folder, tmp_path / "run"), "--json"), code, says)
    assert not (tmp_path / "run").exists()


def test_a_model_that_is_not_there_is_named(shell: Shell, tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    refused(shell(*train_line(missing, tmp_path / "run"), "--json"), 74, "there is no folder", str(missing))
    refused(shell("eval", missing, "--json"), 74, str(missing))
    assert not (tmp_path / "run").exists()


def test_a_device_that_is_not_there_is_refused_before_a_run_begins(shell: Shell, model: Path, tmp_path: Path) -> None:
    line = train_line(model, tmp_path / "run", "--machine.device", "cuda:99", "--json")
    refused(shell(*line), 78, "'cuda:99'", "cpu", "assay doctor")
    refused(shell(*line[:-3], "--machine.device", "gpu", "--json"), 78, "'gpu'", "cpu")
    assert not (tmp_path / "run").exists()


# --- lengths, wordings and problems -------------------------------------------------------------------------


@pytest.mark.slow
def test_what_does_not_fit_into_the_context_is_refused(shell: Shell, model: Path, tmp_path: Path) -> None:
    refused(shell("sample", model, "C 1 2" * 20, "--json"), 64, "the prompt has", "holds 64", "--max-new")
    refused(shell("sample", model, "C 3 4=7", "--max-new", 64, "--json"), 64, "--max-new is 64")
    refused(shell("eval", model, "--task", "countdown:3", "--max-new", 60, "--json"), 64, "context of 64")
    line = train_line(model, tmp_path / "run", "--json", scale_max_new=60)
    refused(shell(*line), 64, "positions", "has 64", "--scale.max-new")
    assert not (tmp_path / "run").exists()


def test_a_model_of_characters_refuses_what_it_cannot_spell(shell: Shell, model: Path) -> None:
    refused(shell("sample", model, "C é", "--max-new", 4, "--json"), 64, "'é'", "at 2", "alphabet")


@pytest.mark.slow
def test_the_natural_wording_is_refused_by_a_small_model(shell: Shell, model: Path, tmp_path: Path) -> None:
    line = train_line(model, tmp_path / "run", "--wording", "natural", "--json")
    refused(shell(*line), 64, "positions", "longer context")
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_a_gym_task_asks_for_the_natural_wording(shell: Shell, model: Path, tmp_path: Path) -> None:
    gym = [part if part != "countdown:3" else "gym:chain_sum" for part in train_line(model, tmp_path / "run", "--json")]
    refused(shell(*gym), 64, "natural")
    assert not (tmp_path / "run").exists()


def test_a_task_without_held_out_problems_is_refused(
    shell: Shell, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny.register(monkeypatch)
    reply = shell("eval", model, "--task", "tiny:1", "--problems", 2, "--n", 1, "--json")
    refused(reply, 64, "task 'tiny' level 1 is too small", "no 'test' instance")


# --- run folders --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_run_is_never_begun_on_top_of_another(shell: Shell, model: Path, calm: Path, tmp_path: Path) -> None:
    before = came_to(calm)
    refused(shell(*train_line(model, calm), "--json"), 2, f"assay resume {calm}")
    assert came_to(calm) == before
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters/dear.txt").write_text("x")
    refused(shell(*train_line(model, tmp_path / "letters"), "--json"), 2, "not empty", "dear.txt")
    assert [path.name for path in (tmp_path / "letters").iterdir()] == ["dear.txt"]


@pytest.mark.slow
def test_a_folder_in_use_is_refused_and_the_holder_is_named(shell: Shell, calm: Path) -> None:
    with RunFolder.open(calm):
        refused(shell("resume", calm, "--steps", 9, "--json"), 74, f"process {os.getpid()}")
        assert shell("report", calm).code == 0, "reading needs no lock"
    assert steps_of(calm) == [1, 2, 3, 4]


@pytest.mark.slow
def test_steps_behind_those_done_are_refused_and_a_finished_run_says_so(shell: Shell, calm: Path) -> None:
    before = came_to(calm)
    refused(shell("resume", calm, "--steps", 2, "--json"), 2, "has done 4 steps", "--steps 2")
    refused(shell("resume", calm, "--steps", 0, "--json"), 78, "num_steps must be at least 1")
    done = shell("resume", calm, "--json")
    assert done.code == 0 and done.document["steps"] == 4
    assert "all 4 steps" in done.err and "--steps N" in done.err
    assert came_to(calm) == before


def edit_run(folder: Path, **changes: object) -> None:
    found = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(found | changes))


@pytest.mark.parametrize("schema", [2, *(pytest.param(other, marks=pytest.mark.slow) for other in (0, None, "1"))])
def test_a_run_folder_of_another_version_is_refused_by_every_verb(
    shell: Shell, calm: Path, tmp_path: Path, schema: object
) -> None:
    run = copy_of(calm, tmp_path / "run")
    edit_run(run, schema=schema)
    todo = "Upgrade assay" if schema == 2 else "assay that wrote it"
    for line in (("resume", run), ("report", run), ("sample", run, "C"), ("eval", run), ("compare", run, calm)):
        refused(shell(*line, "--json"), 78, "schema version", "reads version 1", todo)


def test_a_damaged_description_of_a_run_is_named(shell: Shell, calm: Path, tmp_path: Path) -> None:
    run = copy_of(calm, tmp_path / "run")
    (run / "run.json").write_text("{")
    refused(shell("resume", run, "--json"), 74, "run.json cannot be read")
    (run / "run.json").unlink()
    refused(shell("resume", run, "--json"), 2, "holds no run")


def test_a_setting_that_this_version_does_not_know_is_refused(shell: Shell, calm: Path, tmp_path: Path) -> None:
    run = copy_of(calm, tmp_path / "run")
    experiment = json.loads((run / "run.json").read_text())["experiment"]
    edit_run(run, experiment={**experiment, "sed": 3})
    refused(shell("resume", run, "--json"), 2, "no setting in Experiment named 'sed'", "'seed'")


def flip(run: Path, step: int) -> None:
    file = run / f"ckpt/step-{step:08d}/policy/model.safetensors"
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 16
    file.write_bytes(data)


@pytest.mark.slow
def test_a_flipped_bit_is_noticed_and_the_run_ends_where_it_would_have(
    shell: Shell, calm: Path, tmp_path: Path
) -> None:
    run = copy_of(calm, tmp_path / "run")
    flip(run, STEPS)
    reply = shell("resume", run, "--json")
    assert reply.code == 0 and reply.document["steps"] == STEPS
    assert f"step {STEPS}" in reply.err and "SHA-256" in reply.err
    assert came_to(run) == came_to(calm)
    assert list((run / "ckpt").glob("*.corrupt-hash")), "the damaged one is kept for those who want to look at it"


def test_a_run_without_a_whole_checkpoint_is_refused(shell: Shell, calm: Path, tmp_path: Path) -> None:
    run = copy_of(calm, tmp_path / "run")
    for step in RunFolder.read_only(run).store.steps():
        flip(run, step)
    refused(shell("sample", run, "C 3 4=7", "--json"), 74, "can be used")
    refused(shell("resume", run, "--json"), 74, "can be used", "Start a new run")
    assert steps_of(run) == [1, 2, 3, 4]


@pytest.mark.slow
def test_resume_wants_the_model_that_the_run_began_with(
    shell: Shell, calm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = make_model(tmp_path / "m/own")
    run = tmp_path / "run"
    monkeypatch.chdir(tmp_path)
    assert shell(*train_line(Path("m/own"), run), "--quiet").code == 0
    monkeypatch.chdir("/")
    assert shell("resume", run).code == 0, "the folder was relative; the run is resumed from elsewhere"
    edit_weights(double)(model)
    refused(shell("resume", run, "--json"), 78, "has changed since", "Put the old model back")
    (tmp_path / "m/own").rename(tmp_path / "m/gone")
    refused(shell("resume", run, "--json"), 74, "there is no folder", str(model))
    assert steps_of(run) == [1, 2, 3, 4]


# --- disks --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_disk_that_is_full_for_a_moment_does_not_stop_a_run(
    shell: Shell, model: Path, calm: Path, tmp_path: Path, armed: Callable[[str | None], None]
) -> None:
    armed("checkpoint.before_write:enospc:3")
    reply = shell(*train_line(model, tmp_path / "run"), "--json")
    assert reply.code == 0
    assert "was not saved" in reply.err and "[Errno 28]" in reply.err
    assert came_to(tmp_path / "run") == came_to(calm)


@pytest.mark.parametrize(
    "point",
    ["checkpoint.before_write"]
    + [pytest.param(p, marks=pytest.mark.slow) for p in ("jsonl.before_write", "checkpoint.before_rename")],
)
def test_a_disk_that_stays_full_stops_the_run_where_it_can_be_resumed(
    shell: Shell, model: Path, calm: Path, tmp_path: Path, armed: Callable[[str | None], None], point: str
) -> None:
    run = tmp_path / "run"
    armed(f"{point}:enospc:*")
    reply = shell(*train_line(model, run), "--json")
    assert reply.code == 74, reply.err
    assert "[Errno 28]" in reply.document["message"] and "in a row" in reply.document["message"]
    armed(None)
    assert shell("resume", run, "--quiet").code == 0
    assert came_to(run) == came_to(calm)


@pytest.mark.slow
def test_a_disk_that_is_full_at_the_start_leaves_no_run(
    shell: Shell, model: Path, tmp_path: Path, armed: Callable[[str | None], None]
) -> None:
    run = tmp_path / "run"
    armed("run.before_write:enospc")
    refused(shell(*train_line(model, run), "--json"), 74, "creating the run", "[Errno 28]")
    armed(None)
    assert shell(*train_line(model, run), "--quiet").code == 0, "the same command works when there is room"


def test_a_folder_that_cannot_be_made_is_named(shell: Shell, model: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    reply = shell(*train_line(model, tmp_path / "file/run"), "--json")
    refused(reply, 74, str(tmp_path / "file"))


# --- people -------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("in_front")
@pytest.mark.parametrize(
    ("method", "nth", "sent"),
    [("generate", 1, signal.SIGTERM)]
    + [
        pytest.param(method, nth, sent, marks=pytest.mark.slow)
        for method, nth in (("generate", 6), ("backward", 2), ("step", 3))
        for sent in (signal.SIGTERM, signal.SIGINT)
    ]
    + [pytest.param("generate", 3, sent, marks=pytest.mark.slow) for sent in (signal.SIGHUP, signal.SIGUSR1)],
)
def test_a_polite_stop_ends_as_75_and_the_resumed_run_ends_as_the_calm_one(
    shell: Shell,
    model: Path,
    calm: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    nth: int,
    sent: signal.Signals,
) -> None:
    engine = engine_for("auto", "cpu", "fp32").engine
    run, inner, visits = tmp_path / "run", getattr(engine, method), []

    def wrapped(*arguments: Any, **keywords: Any) -> Any:
        visits.append(1)
        if len(visits) == nth:
            os.kill(os.getpid(), sent)
        return inner(*arguments, **keywords)

    monkeypatch.setattr(engine, method, wrapped)
    reply = shell(*train_line(model, run), "--json")
    refused(reply, 75, sent.name, f"assay resume {run}")
    assert len(steps_of(run)) < STEPS
    monkeypatch.undo()
    assert shell("resume", run, "--quiet").code == 0
    assert came_to(run) == came_to(calm)


@pytest.mark.slow
def test_an_extended_run_that_was_stopped_goes_on_to_its_new_end(
    shell: Shell, calm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, straight = copy_of(calm, tmp_path / "run"), copy_of(calm, tmp_path / "straight")
    assert shell("resume", straight, "--steps", 7, "--quiet").code == 0
    inner, visits = LocalEngine.step, []

    def wrapped(*arguments: Any, **keywords: Any) -> Any:
        visits.append(1)
        if len(visits) == 2:
            os.kill(os.getpid(), signal.SIGTERM)
        return inner(*arguments, **keywords)

    monkeypatch.setattr(LocalEngine, "step", wrapped)
    assert shell("resume", run, "--steps", 7, "--quiet").code == 75
    monkeypatch.undo()
    assert shell("resume", run, "--quiet").code == 0, "without --steps: the run knows its new end"
    assert steps_of(run) == list(range(1, 8))
    assert came_to(run) == came_to(straight)


@pytest.mark.slow
def test_a_process_that_is_terminated_exits_with_75(model: Path, calm: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    line = train_line(model, run, "--quiet", "--json")
    line[line.index("--steps") + 1] = "100000"
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "assay", *line],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    metrics = run / "metrics.jsonl"
    while process.poll() is None and not (metrics.exists() and metrics.stat().st_size):
        time.sleep(0.05)
    process.terminate()
    out, err = process.communicate()
    assert process.returncode == 75, err
    assert json.loads(out)["code"] == 75
    done = len(steps_of(run))
    assert done >= 1
    assert main(["resume", str(run), "--steps", str(done + 1), "--quiet"]) == 0
    assert steps_of(run) == list(range(1, done + 2))
