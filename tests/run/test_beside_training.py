"""Runs whose checkpoints are written beside training: each is that of its step, and a stop waits until it is whole."""

from __future__ import annotations

import os
import shutil
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_runs import GRADED, Shell, came_to, make_model, steps_of, train_line

from assay.engine.local import LocalEngine
from assay.engine.sharded.engine import KeptState, ShardedLearner
from assay.engine.state import FileState
from assay.record import RunFolder, folder
from assay.run.recorder import Recorder

pytestmark = pytest.mark.slow
TWO = ("--machine.learners", "2", "--machine.precision", "fp32", "--machine.deadline", "60")


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("model"))


def beside() -> bool:
    return threading.current_thread() is not threading.main_thread()


def written_after_the_next_update(patch: pytest.MonkeyPatch) -> list[int]:
    """Checkpoints are written when the weights that they are a copy of have changed; how many updates there were then.

    Every write waits for an optimiser step after its save, which comes before the next save.
    """
    updates, at_save, waited = [0], [0], list[int]()
    patch.setattr(folder, "BESIDE", 0)
    save = RunFolder.save

    def counting(plain: Callable[..., Any]) -> Callable[..., Any]:
        def step(self: Any, **settings: Any) -> Any:
            found = plain(self, **settings)
            updates[0] += 1
            return found

        return step

    def waiting(plain: Callable[..., Any]) -> Callable[..., Any]:
        def write(self: Any, *arguments: Any) -> Any:
            since = time.monotonic()
            while beside() and updates[0] == at_save[0]:
                assert time.monotonic() - since < 60.0, "no update came while the checkpoint was to be written"
                time.sleep(0.002)
            if beside():
                waited.append(updates[0])
            return plain(self, *arguments)

        return write

    def noted(self: RunFolder, *arguments: Any, **settings: Any) -> bool:
        self.settle()
        at_save[0] = updates[0]
        return save(self, *arguments, **settings)

    patch.setattr(RunFolder, "save", noted)
    for engine in (LocalEngine, ShardedLearner):
        patch.setattr(engine, "step", counting(engine.step))
    for state in (FileState, KeptState):
        patch.setattr(state, "write", waiting(state.write))
    return waited


def checkpoints_of(run: Path) -> dict[int, dict[str, bytes]]:
    found = RunFolder.read_only(run)
    each = {step: found.load(step) for step in found.store.steps()}
    return {step: {name: one.file(name).read_bytes() for name in one.names} for step, one in each.items() if one}


@pytest.mark.turns(2)
@pytest.mark.parametrize("more", [(), TWO])
def test_each_checkpoint_has_the_bytes_of_one_that_was_written_in_place(
    shell: Shell, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...]
) -> None:
    (tmp_path / "graded.py").write_text(GRADED)
    told = (*more, "--reward", f"{tmp_path / 'graded.py'}:graded", "--saving.keep", "9")
    calm = shell(*train_line(model, tmp_path / "calm", *told))
    assert calm.code == 0, calm.err
    with monkeypatch.context() as patch:
        waited = written_after_the_next_update(patch)
        made = shell(*train_line(model, tmp_path / "run", *told))
    assert made.code == 0, made.err
    assert len(set(waited)) >= 3, "one a step but the last, which nothing follows"
    expected = checkpoints_of(tmp_path / "calm")
    assert sorted(expected) == [0, 1, 2, 3, 4] and checkpoints_of(tmp_path / "run") == expected
    weights = {tuple(data for name, data in sorted(one.items()) if "policy/model" in name) for one in expected.values()}
    assert len(weights) == 5, "every step changes them"


def test_a_resume_from_such_a_checkpoint_has_the_bits_of_the_calm_run(
    shell: Shell, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "graded.py").write_text(GRADED)
    told = ("--reward", f"{tmp_path / 'graded.py'}:graded", "--saving.keep", "9")
    assert shell(*train_line(model, tmp_path / "calm", *told)).code == 0
    with monkeypatch.context() as patch:
        written_after_the_next_update(patch)
        assert shell(*train_line(model, tmp_path / "run", *told)).code == 0
    for step in (3, 4):
        shutil.rmtree(tmp_path / "run" / "ckpt" / f"step-{step:08d}")
    resumed = shell("resume", tmp_path / "run")
    assert resumed.code == 0, resumed.err
    assert came_to(tmp_path / "run") == came_to(tmp_path / "calm") and steps_of(tmp_path / "run") == [1, 2, 3, 4]


@pytest.mark.deep
def test_a_rank_that_dies_while_it_writes_costs_that_checkpoint_alone(
    shell: Shell, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shell(*train_line(model, tmp_path / "calm", *TWO)).code == 0
    plain, killed = KeptState.write, list[int]()

    def write(self: KeptState, *arguments: Any) -> Any:
        if not killed and RunFolder.read_only(tmp_path / "run").store.steps():
            killed.append(self.state.learner.ranks.facts[1]["pid"])
            os.kill(killed[0], signal.SIGKILL)
        return plain(self, *arguments)

    monkeypatch.setattr(folder, "BESIDE", 0)
    monkeypatch.setattr(KeptState, "write", write)
    hurt = shell(*train_line(model, tmp_path / "run", *TWO))
    assert hurt.code == 0 and killed and "All processes are started again from step 0" in hurt.err, hurt.err
    assert came_to(tmp_path / "run") == came_to(tmp_path / "calm") and steps_of(tmp_path / "run") == [1, 2, 3, 4]


@pytest.mark.turns(3)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_a_stop_waits_for_the_checkpoint_of_its_step(
    shell: Shell, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    """The signal comes when step 3 begins, and the checkpoint of step 2 is being written."""
    (tmp_path / "graded.py").write_text(GRADED)
    told = ("--reward", f"{tmp_path / 'graded.py'}:graded")
    assert shell(*train_line(model, tmp_path / "calm", *told)).code == 0
    phase, write, found = Recorder.phase, FileState.write, list[list[int]]()

    def slow(self: FileState, *arguments: Any) -> Any:
        time.sleep(0.3)
        return write(self, *arguments)

    def stopping(self: Recorder, name: str) -> None:
        if name == "collect" and self.settled is not None and self.settled[0].step == 2:
            found.append(self.folder.store.steps())
            os.kill(os.getpid(), number)
        phase(self, name)

    with monkeypatch.context() as patch:
        patch.setattr(folder, "BESIDE", 0)
        patch.setattr(FileState, "write", slow)
        patch.setattr(Recorder, "phase", stopping)
        stopped = shell(*train_line(model, tmp_path / "run", *told))
    assert stopped.code == 75 and number.name in stopped.err and "assay resume" in stopped.err
    assert found == [[0, 1]], "step 2 was not whole when the signal came"
    assert RunFolder.read_only(tmp_path / "run").store.steps()[-1] == 2
    assert not list((tmp_path / "run" / "ckpt").glob(".tmp-*"))
    assert shell("resume", tmp_path / "run").code == 0
    assert came_to(tmp_path / "run") == came_to(tmp_path / "calm")
