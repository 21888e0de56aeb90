"""A disk that refuses, a signal that arrives: the run goes on as long as it may, and stops with nothing lost."""

from __future__ import annotations

import errno
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from record_runs import WEIGHTS, save

from assay.errors import Stopped, StorageError, UsageError
from assay.host import failpoint
from assay.host.stops import STOPS
from assay.record import RunFolder, StopFlag, disk, manifest


@pytest.fixture(autouse=True)
def _disarm() -> Iterator[None]:
    yield
    failpoint.arm(None)


# --- a disk that fails --------------------------------------------------------------------------------------


@pytest.mark.parametrize("action", ["enospc", "eio"])
@pytest.mark.parametrize("point", ["jsonl.before_write", "jsonl.after_write"])
def test_a_record_waits_for_a_better_disk(run: RunFolder, point: str, action: str) -> None:
    run.append("metrics", {"step": 1})
    before = (run.path / "metrics.jsonl").read_bytes()
    failpoint.arm(f"{point}:{action}:*")
    assert not run.append("metrics", {"step": 2})
    assert not run.append("metrics", {"step": 3})
    assert (run.path / "metrics.jsonl").read_bytes() == before
    failpoint.arm(None)
    assert run.append("metrics", {"step": 4})
    assert [record["step"] for record in run.read("metrics")] == [1, 2, 3, 4]
    failpoint.arm(f"{point}:{action}:*")
    assert not run.append("metrics", {"step": 5})
    assert not run.append("metrics", {"step": 6})
    with pytest.raises(StorageError, match="3 times in a row"):
        run.append("metrics", {"step": 7})
    failpoint.arm(None)
    assert len(run.failures) == 4


def test_the_third_failed_save_stops_the_run(run: RunFolder) -> None:
    save(run, 1)
    failpoint.arm("checkpoint.before_write:enospc:*")
    assert not save(run, 2)
    assert not save(run, 3)
    failpoint.arm(None)
    assert save(run, 4)
    failpoint.arm("checkpoint.before_fsync:eio:*")
    assert not save(run, 5)
    assert not save(run, 6)
    assert sorted(p.name for p in (run.path / "ckpt").iterdir()) == ["step-00000001", "step-00000004"]
    with pytest.raises(StorageError, match="3 saves in a row") as stop:
        save(run, 7)
    assert stop.value.exit_code == 74
    assert run.store.steps() == [1, 4]


def test_a_save_that_would_fill_the_disk_is_not_begun(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wanted: a quarter more than its 4000 bytes, and the reserve of 64 MiB."""
    needed = 5000 + (64 << 20)
    tensors = {WEIGHTS: {"w": np.zeros(1000, np.float32)}}
    for free, works in ((needed - 1, False), (needed, True)):
        usage = shutil._ntuple_diskusage(1 << 40, 0, free)  # pyright: ignore[reportAttributeAccessIssue]
        monkeypatch.setattr(shutil, "disk_usage", lambda _, usage=usage: usage)
        assert run.save(1, tensors=tensors) is works
        assert (run.store.steps() == [1]) is works


def test_a_save_that_reads_back_differently_is_no_commit(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    for step in (1, 2):
        save(run, step)
    monkeypatch.setattr(manifest, "digest_file", lambda _: "0" * 64)
    assert not save(run, 3)
    monkeypatch.undo()
    assert run.store.steps() == [1, 2]
    assert "reads back differently" in run.failures[0]


def test_a_save_waits_for_records_that_wait(run: RunFolder) -> None:
    failpoint.arm("jsonl.before_write:enospc:*")
    assert not save(run, 1)
    assert run.store.steps() == []
    failpoint.arm(None)
    assert save(run, 2)
    checkpoint = run.load()
    assert checkpoint is not None
    assert checkpoint.journals["metrics"] == (run.path / "metrics.jsonl").stat().st_size
    assert [record["step"] for record in run.read("metrics")] == [1, 2]


def test_a_read_error_is_set_aside_and_a_missing_permission_is_not(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(run, 1)
    save(run, 2)

    def refuse(number: int) -> Callable[[Path], str]:
        def digest(path: Path) -> str:
            if "step-00000002" in str(path):
                raise OSError(number, "no")
            return disk.digest_file(path)

        return digest

    monkeypatch.setattr(manifest, "digest_file", refuse(errno.EACCES))
    with pytest.raises(StorageError, match="cannot be read"):
        run.load()
    assert run.store.steps() == [1, 2]
    monkeypatch.setattr(manifest, "digest_file", refuse(errno.EIO))
    checkpoint = run.load()
    assert checkpoint is not None and checkpoint.step == 1
    assert (run.path / "ckpt/step-00000002.corrupt-unreadable").is_dir()


# --- signals and failpoints ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("in_front")
@pytest.mark.parametrize("first", STOPS, ids=lambda number: number.name)
def test_the_first_signal_asks_and_the_second_leaves(first: signal.Signals) -> None:
    before = signal.getsignal(first)
    with StopFlag() as stop:
        assert not stop
        stop.check()
        os.kill(os.getpid(), first)
        assert stop
        with pytest.raises(Stopped, match=first.name) as stopped:
            stop.check()
        assert stopped.value.exit_code == 75
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)):
            pid = os.fork()
            if pid == 0:
                os.kill(os.getpid(), number)
                os._exit(0)
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == code
    assert signal.getsignal(first) is before


@pytest.mark.usefixtures("in_front")
def test_a_run_under_nohup_outlives_its_terminal() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with StopFlag() as stop:
            os.kill(os.getpid(), signal.SIGHUP)
            assert not stop
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("spec", ["checkpoint.befor_write:kill", "loop.save:explode", "loop.save", "loop.save:kill:x"])
def test_a_failpoint_that_could_never_fire_is_refused(spec: str) -> None:
    with pytest.raises(UsageError):
        failpoint.arm(spec)


def test_a_failpoint_fires_at_its_visit_and_only_there() -> None:
    failpoint.arm("loop.save:eio:2")
    failpoint.failpoint("loop.save")
    failpoint.failpoint("loop.update")
    with pytest.raises(OSError, match=r"failpoint loop\.save") as error:
        failpoint.failpoint("loop.save")
    assert error.value.errno == errno.EIO
    failpoint.failpoint("loop.save")


def test_the_names_of_failpoints_are_distinct() -> None:
    assert len(set(failpoint.FAILPOINTS)) == len(failpoint.FAILPOINTS)
