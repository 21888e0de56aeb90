"""A resume under other libraries, another device, processor or number of threads says so, and so does the run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from small_runs import Shell, copy_of, make_model, train_line

from assay.cli.main import main
from assay.engine.local import LocalEngine
from assay.engine.native import build
from assay.record import manifest

pytestmark = pytest.mark.slow
Change = Callable[[pytest.MonkeyPatch], None]


def _torch(patch: pytest.MonkeyPatch) -> None:
    versions = {**manifest.versions(), "torch": "9.9"}
    patch.setattr(manifest, "versions", lambda: versions)


def _device(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(LocalEngine, "place", property(lambda _: "cuda torch"))


def _threads(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("torch.get_num_threads", lambda: 7)


def _processor(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("torch.backends.cpu.get_cpu_capability", lambda: "NEON")


CHANGES: dict[str, tuple[Change, str]] = {
    "torch": (_torch, "-> '9.9'"),
    "device": (_device, "place: 'cpu torch' -> 'cuda torch'"),
    "threads": (_threads, "threads: 1 -> 7"),
    "processor": (_processor, "-> 'NEON'"),
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("model") / "small")


@pytest.fixture(scope="module")
def run(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("elsewhere") / "run"
    assert main([*train_line(model, folder, "--machine.engine", "torch", evaluation_every=0), "--quiet"]) == 0
    return folder


def resumed(run: Path, shell: Shell, steps: int) -> tuple[list[str], list[object]]:
    """The warnings of a resume, and what run.json says of all resumes so far."""
    reply = shell("resume", run, "--steps", steps, "--quiet")
    assert reply.code == 0, reply.err
    lines = [line for line in reply.err.splitlines() if "not as at step" in line]
    return lines, json.loads((run / "run.json").read_text()).get("resumed", [])


@pytest.mark.parametrize("name", CHANGES)
def test_a_resume_elsewhere_says_so_in_one_line_and_in_the_run(
    name: str, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    change, expected = CHANGES[name]
    mine, shell = copy_of(run, tmp_path / "run"), Shell(capsys)
    assert resumed(mine, shell, 5) == ([], []), "the same machine"
    change(monkeypatch)
    (line,), (entry,) = resumed(mine, shell, 6)
    assert line.startswith("warning: not as at step 5") and expected in line and "last bits" in line
    assert isinstance(entry, dict) and entry["step"] == 5 and len(entry["changed"]) == 1
    assert expected in entry["changed"][0]
    assert resumed(mine, shell, 7)[0] == [], "the checkpoint of step 6 was saved there"


def test_a_resume_on_another_variant_of_the_core_says_so(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = [variant.name for variant in build.runnable() if variant.format == "fp32"]
    if len(known) < 2:
        pytest.skip("this processor runs one variant of the core")
    line = train_line(model, tmp_path / "run", "--machine.engine", "native", "--machine.precision", "fp32")
    monkeypatch.setenv(build.CHOICE, known[0])
    assert main([*line, "--quiet"]) == 0
    monkeypatch.setenv(build.CHOICE, known[1])
    (said,), (entry,) = resumed(tmp_path / "run", Shell(capsys), 5)
    assert f"{known[0]}' -> 'cpu native {known[1]}'" in said and isinstance(entry, dict) and entry["step"] == 4


def test_what_an_older_checkpoint_does_not_say_is_no_difference(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from assay.record.checkpoint import Checkpoint

    saved = {"place": "cpu torch", "threads": manifest.environment("")["threads"]}
    checkpoint = Checkpoint(1, tmp_path, {"environment": saved})
    assert checkpoint.environment_changes("cpu torch") == []
    assert checkpoint.environment_changes("mps torch") == ["place: 'cpu torch' -> 'mps torch'"]
