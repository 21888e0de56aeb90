"""A run that loses processes begins again from its last checkpoint: as often as it is told to, from each of them."""

from __future__ import annotations

import time
import types
from pathlib import Path
from typing import Any

import pytest
from small_runs import Shell, came_to, make_model, steps_of, train_line

from assay.errors import EndpointError, ProcessLost
from assay.record import RunFolder
from assay.run import recorder, training
from assay.run.recorder import Recorder

pytestmark = pytest.mark.slow


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("model") / "model")


def losing(patch: pytest.MonkeyPatch, losses: dict[int, int], error: Exception, *, saved: bool) -> None:
    """At these steps something is lost so many times, after the step was saved or before."""
    plain, left = Recorder.step, dict(losses)

    def step(self: Recorder, memory: Any, *rest: Any) -> None:
        lost = left.get(memory.step, 0) > 0
        if lost and not saved:
            left[memory.step] -= 1
            raise error
        plain(self, memory, *rest)
        if lost:
            left[memory.step] -= 1
            raise error

    patch.setattr(Recorder, "step", step)


def test_a_newer_checkpoint_begins_the_count_of_restarts_anew(
    shell: Shell, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shell(*train_line(model, tmp_path / "calm", saving_every=1)).code == 0
    losing(monkeypatch, {1: 1, 2: 1, 3: 1}, ProcessLost("rank 1 of 2 was ended by SIGKILL"), saved=True)
    ended = shell(*train_line(model, tmp_path / "hurt", "--machine.restarts", "1", saving_every=1))
    assert ended.code == 0, ended.err
    assert [f"started again from step {step}" in ended.err for step in (1, 2, 3)] == [True] * 3
    assert came_to(tmp_path / "hurt") == came_to(tmp_path / "calm")


@pytest.mark.parametrize("restarts", [0, 2])
def test_losses_without_progress_end_the_command(
    restarts: int, shell: Shell, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        losing(patch, {2: 9}, ProcessLost("a server is gone."), saved=False)
        line = train_line(model, tmp_path / "run", "--machine.restarts", str(restarts), saving_every=1)
        ended = shell(*line)
    assert ended.code == 75 and f"after {restarts} restarts from one checkpoint" in ended.err
    assert ended.err.count("started again from step 1") == restarts
    assert shell("resume", tmp_path / "run").code == 0 and steps_of(tmp_path / "run") == [1, 2, 3, 4]


def test_a_service_that_is_gone_ends_the_command_with_how_to_go_on(
    shell: Shell, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    losing(monkeypatch, {2: 1}, EndpointError("the judge does not answer."), saved=True)
    ended = shell(*train_line(model, tmp_path / "run", saving_every=1))
    assert ended.code == 69 and "the judge does not answer. `assay resume" in ended.err


def test_a_server_that_ends_before_there_is_a_checkpoint_ends_the_command_with_how_to_go_on(
    shell: Shell, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(*_: Any) -> Any:
        raise EndpointError("a sampler of Assay's engine ended.")

    with monkeypatch.context() as patch:
        patch.setattr(training, "open_models", ended)
        refused = shell(*train_line(model, tmp_path / "run"))
    assert refused.code == 69 and f"ended. `assay resume {tmp_path / 'run'}` begins the run again" in refused.err
    assert shell("resume", tmp_path / "run").code == 0 and steps_of(tmp_path / "run") == [1, 2, 3, 4]


def test_a_checkpoint_is_written_after_so_many_minutes_at_the_latest(
    shell: Shell, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps of ten minutes each, by a clock of the test: of four steps the second and the last are saved."""
    plain, saved, passed = Recorder.step, list[int](), [0.0]
    monkeypatch.setattr(recorder, "time", types.SimpleNamespace(monotonic=lambda: time.monotonic() + passed[0]))
    save = RunFolder.save

    def step(self: Recorder, memory: Any, *rest: Any) -> None:
        passed[0] += 600
        plain(self, memory, *rest)

    def noted(self: RunFolder, step: int, *rest: Any, **how: Any) -> None:
        saved.append(step)
        save(self, step, *rest, **how)

    monkeypatch.setattr(Recorder, "step", step)
    monkeypatch.setattr(RunFolder, "save", noted)
    line = train_line(model, tmp_path / "run", "--saving.minutes", "20", saving_every=100, evaluation_every=0)
    assert shell(*line).code == 0 and saved == [0, 2, 4]
