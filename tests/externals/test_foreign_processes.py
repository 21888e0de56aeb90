"""Programs that externals call: their limits, and that nothing of them outlives a worker that is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from assay.externals.process import FOLDERS, Ended, Limits, run, start, stop


def shell(program: str, **limits: int) -> Ended:
    return run(["sh", "-c", program], {"here": "its text\n"}, Limits(**limits))


def commands_with(word: str) -> list[int]:
    """Processes on this machine whose command line holds the word."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if word.encode() in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except OSError:  # it has ended
            continue
    return found


def gone(word: str) -> bool:
    for _ in range(100):
        if not commands_with(word):
            return True
        time.sleep(0.05)
    return False


def test_a_program_reads_its_files_and_its_input_and_ends() -> None:
    ended = run(["sh", "-c", "cat here -; echo no >&2; exit 3"], {"here": "a\n"}, Limits(), text="b\n" * 100_000)
    assert (ended.status, ended.code, ended.errors) == ("done", 3, "no\n")
    assert ended.output == "a\n" + "b\n" * 100_000


def test_input_that_is_not_read_is_no_fault() -> None:
    ended = run(["true"], {}, Limits(), text="x" * 10_000_000)
    assert (ended.status, ended.code) == ("done", 0)


def test_a_program_that_is_missing_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        run(["no-such-program"], {}, Limits())


@pytest.mark.slow
def test_processor_time_ends_a_program_and_its_children() -> None:
    assert shell("while :; do :; done", seconds=1).status == "time"
    assert shell("(while :; do :; done); exit 0", seconds=1).status == "time"


def test_endless_output_is_cut() -> None:
    ended = shell("yes", output_mb=1)
    assert ended.status == "output"


def test_memory_and_files_are_limited() -> None:
    assert shell("head -c 100000 /dev/zero > big; wc -c < big", file_mb=0).output.strip() != "100000"
    ended = run([sys.executable, "-c", "bytearray(1 << 30)"], {}, Limits(memory_mb=256))
    assert ended.code == 1 and "MemoryError" in ended.errors


def test_children_end_with_their_program_and_folders_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert shell("sleep 98761 & ls -d ..; echo started").output == "..\nstarted\n"
    assert gone("98761")
    assert not list(tmp_path.iterdir())


def test_stopping_a_session_ends_all_of_it() -> None:
    process = start(["sh", "-c", "sleep 98762 & sleep 98763"], Limits())
    for _ in range(100):
        if commands_with("98763") and commands_with("98762"):
            break
        time.sleep(0.05)
    stop(process)
    assert gone("98762") and gone("98763")


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_worker_that_is_killed_leaves_no_child_and_no_folder(how: signal.Signals, tmp_path: Path) -> None:
    mark = f"9876{int(how)}{os.getpid()}"
    program = (
        "from assay.externals.process import Limits, run\n"
        f"run(['sh', '-c', 'sleep {mark} & (sleep {mark}; true)'], {{'here': 'text'}}, Limits())"
    )
    environment = os.environ | {"TMPDIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    worker = subprocess.Popen([sys.executable, "-c", program, mark], env=environment)
    for _ in range(400):
        if len(commands_with(f"sleep\0{mark}")) == 2:
            break
        time.sleep(0.05)
    assert len(commands_with(f"sleep\0{mark}")) == 2 and list(tmp_path.glob(f"{FOLDERS}*"))
    worker.send_signal(how)
    worker.wait()
    assert gone(mark)
    assert not list(tmp_path.glob(f"{FOLDERS}*"))
