"""Checkpoints that are written while training goes on: what they hold, who waits for whom, and what fails."""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from record_runs import IDENTITY

from assay.engine.state import FileState
from assay.errors import ProcessLost, StorageError
from assay.host.beside import Beside
from assay.record import RunFolder, disk, folder

FILE = "policy/model.safetensors"


@dataclass
class Gate:
    """A disk that writes the weights when it is let."""

    writing: threading.Event = field(default_factory=threading.Event)
    open: threading.Event = field(default_factory=threading.Event)
    error: BaseException | None = None

    def through(self, plain: Callable[..., Any]) -> Callable[..., Any]:
        def write_new(path: Path, chunks: Any, *, point: str) -> Any:
            if path.name == "model.safetensors":
                self.writing.set()
                assert self.open.wait(30.0)
                if self.error is not None:
                    raise self.error
            return plain(path, chunks, point=point)

        return write_new


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    monkeypatch.setattr(folder, "BESIDE", 0)
    made = Gate()
    monkeypatch.setattr(disk, "write_new", made.through(disk.write_new))
    yield made
    made.open.set()


@pytest.fixture
def run(tmp_path: Path) -> Iterator[RunFolder]:
    with RunFolder.create(tmp_path / "run", identity=IDENTITY) as made:
        yield made


class Learner:
    """Weights that each step changes in place."""

    def __init__(self) -> None:
        self.weights = torch.zeros(3)
        self.buffer = np.zeros(2)

    def save(self, run: RunFolder, step: int, **more: Any) -> bool:
        self.weights += 1
        self.buffer += 1
        run.append("metrics", {"step": step})
        state = FileState({FILE: {"w": self.weights}})
        tensors = {"memory.safetensors": {"kept": self.buffer}}
        return run.save(step, states=[state], tensors=tensors, **{"beside": True, **more})


def saved(run: RunFolder, step: int) -> tuple[list[float], list[float]]:
    checkpoint = run.load(step)
    assert checkpoint is not None
    return checkpoint.tensors(FILE)["w"].tolist(), checkpoint.tensors("memory.safetensors")["kept"].tolist()


def test_the_checkpoint_is_of_its_step_though_weights_change_while_it_is_written(run: RunFolder, gate: Gate) -> None:
    learner = Learner()
    assert learner.save(run, 1) and gate.writing.wait(30.0)
    learner.weights += 5
    learner.buffer += 5
    run.append("metrics", {"step": 2})
    assert run.store.steps() == [], "it is not whole"
    gate.open.set()
    run.settle()
    assert saved(run, 1) == ([1.0] * 3, [1.0] * 2)
    run.rewind(run.load(1))
    assert run.read("metrics") == [{"step": 1}], "the journals are those of its step"


def test_older_checkpoints_stay_until_the_newer_one_is_whole(run: RunFolder, gate: Gate) -> None:
    gate.open.set()
    learner = Learner()
    for step in (1, 2):
        learner.save(run, step, score=-float(step))
    run.settle()
    gate.open.clear()
    gate.writing.clear()
    assert learner.save(run, 3, score=-3.0) and gate.writing.wait(30.0)
    assert run.store.steps() == [1, 2]
    gate.open.set()
    run.settle()
    assert run.store.steps() == [1, 2, 3], "the best one and the two newest"
    assert learner.save(run, 4, score=5.0)
    run.settle()
    best = run.best()
    assert run.store.steps() == [3, 4] and best is not None and best.step == 4


def test_one_is_under_way_at_most_and_the_next_save_waits(run: RunFolder, gate: Gate) -> None:
    learner, ended = Learner(), list[int]()
    learner.save(run, 1)
    assert gate.writing.wait(30.0)

    def let() -> None:
        ended.extend(run.store.steps())
        gate.open.set()

    threading.Timer(0.1, let).start()
    learner.save(run, 2, beside=False)
    assert ended == [] and run.store.steps() == [1, 2]
    assert [saved(run, step)[0][0] for step in (1, 2)] == [1.0, 2.0]


def test_a_step_that_is_being_written_is_saved_once(run: RunFolder, gate: Gate) -> None:
    """A stop saves the step that it finds; here it finds one whose checkpoint is under way."""
    learner = Learner()
    learner.save(run, 1)
    assert gate.writing.wait(30.0)
    threading.Timer(0.1, gate.open.set).start()
    assert run.save(1, states=[FileState({FILE: {"w": learner.weights}})], tensors={})
    assert saved(run, 1)[0] == [1.0] * 3


def test_a_disk_that_fails_is_told_at_the_next_save_and_ends_the_run_at_the_third(run: RunFolder, gate: Gate) -> None:
    learner = Learner()
    gate.open.set()
    learner.save(run, 1)
    run.settle()
    gate.error = OSError(errno.ENOSPC, "no space left")
    learner.save(run, 2)
    learner.save(run, 3)
    assert run.failures == ["the checkpoint of step 2 was not saved: [Errno 28] no space left"]
    learner.save(run, 4)
    with pytest.raises(StorageError, match=r"3 saves in a row failed, .*no space left.*assay resume"):
        learner.save(run, 5)
    assert run.store.steps() == [1] and not list(run.store.path.glob(".tmp-*"))
    gate.error = None
    learner.save(run, 6)
    run.settle()
    assert run.store.steps() == [1, 6]


def test_the_end_of_a_run_waits_and_tells(tmp_path: Path, gate: Gate) -> None:
    learner = Learner()
    with RunFolder.create(tmp_path / "run", identity=IDENTITY) as run:
        learner.save(run, 1)
        threading.Timer(0.1, gate.open.set).start()
    again = RunFolder.read_only(tmp_path / "run")
    assert again.store.steps() == [1] and saved(again, 1)[0] == [1.0] * 3
    gate.error = OSError(errno.EIO, "broken")
    with RunFolder.open(tmp_path / "run") as run:
        learner.save(run, 2)
    assert run.failures == ["the checkpoint of step 2 was not saved: [Errno 5] broken"]


def test_an_error_of_the_run_does_not_leave_a_writer_behind(tmp_path: Path, gate: Gate) -> None:
    with pytest.raises(ZeroDivisionError), RunFolder.create(tmp_path / "run", identity=IDENTITY) as run:
        Learner().save(run, 1)
        threading.Timer(0.1, gate.open.set).start()
        raise ZeroDivisionError
    assert RunFolder.read_only(tmp_path / "run").store.steps() == [1]


def test_errors_that_are_not_of_the_disk_are_raised_and_lost_processes_are_told(run: RunFolder, gate: Gate) -> None:
    learner = Learner()
    gate.open.set()
    gate.error = ProcessLost("the learner is gone")
    learner.save(run, 1)
    assert run.load() is None and run.failures == ["the checkpoint of step 1 was not saved: the learner is gone"]
    gate.error = ValueError("a fault of ours")
    learner.save(run, 2)
    with pytest.raises(ValueError, match="a fault of ours"):
        learner.save(run, 3)


def test_values_that_must_not_be_saved_are_refused_at_once(run: RunFolder, gate: Gate) -> None:
    learner = Learner()
    learner.weights[0] = float("nan")
    with pytest.raises(StorageError, match="not finite"):
        learner.save(run, 1)
    assert not gate.writing.is_set()


@pytest.mark.parametrize("why", ["small", "no room"])
def test_small_ones_and_those_without_room_are_written_in_place(
    why: str, run: RunFolder, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate.open.set()
    if why == "small":
        monkeypatch.setattr(folder, "BESIDE", 1000)
    else:
        monkeypatch.setattr("assay.engine.state.holds_twice", lambda size: size < 0)
    kept: list[object] = []
    monkeypatch.setattr(FileState, "kept", kept.append)
    assert Learner().save(run, 1) and run.store.steps() == [1] and not kept


def test_work_beside_gives_its_result_or_its_error_once() -> None:
    beside: Beside[int] = Beside()
    assert not beside.alive and beside.end() is None
    hold = threading.Event()
    beside.begin(lambda: 7 if hold.wait(30.0) else 0)
    assert beside.alive
    with pytest.raises(RuntimeError, match="never ended"):
        beside.begin(lambda: 8)
    hold.set()
    assert beside.end() == 7 and beside.end() is None
    beside.begin(lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        beside.end()
    assert beside.end() is None
