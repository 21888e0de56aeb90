"""A report that can be read while its run goes, and after any stop; what it costs is bounded."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_runs import ROOT, Shell, make_model, steps_of, train_line

from assay.errors import StorageError
from assay.record import RunFolder
from assay.run.live_report import APART, SHARE, Page


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_reports_take_no_more_than_their_share_of_a_run() -> None:
    """Steps of a second and reports of three seconds, for three hours: at one percent there are 36 in a run."""
    clock, written = Clock(), []

    def write() -> None:
        clock.now += 3.0
        written.append(clock.now)

    page = Page(write, print, clock)
    page.now()  # at the start, before any step
    while clock.now < 100 + 3 * 3600:
        clock.now += 1.0
        page.turn()
    assert page.spent == 3.0 * len(written)
    assert page.spent <= SHARE * (clock.now - 100)
    assert len(written) >= 35, "and no fewer than the share allows"


def test_cheap_reports_are_some_seconds_apart() -> None:
    clock, written = Clock(), []
    page = Page(lambda: written.append(clock.now), print, clock)
    for _ in range(800):
        clock.now += 0.125
        page.turn()
    assert len(written) == 10 and all(b - a >= APART for a, b in zip(written, written[1:]))


def test_a_report_that_cannot_be_written_is_told_once() -> None:
    told: list[str] = []

    def write() -> None:
        raise StorageError("the disk is full")

    page = Page(write, told.append)
    page.now()
    page.now()
    assert told == ["warning: the report could not be written: the disk is full"]


PROGRAM = """
import sys
from assay.cli.main import main
from assay.run import live_report
live_report.APART, live_report.SHARE = 0.0, 1.0
if sys.argv[1] == "raise":
    from assay.run.recorder import Recorder
    step = Recorder.step
    def broken(self, memory, *rest):
        step(self, memory, *rest)
        if memory.step == 3:
            raise RuntimeError("a fault")
    Recorder.step = broken
sys.exit(main(sys.argv[2:]))
"""


def begun(
    run: Path, model: Path, how: str = "train", steps: int = 3000, *, quiet: bool = True, **streams: Any
) -> subprocess.Popen[str]:
    more = ["--quiet"] if quiet else []
    line = train_line(model, run, "--steps", str(steps), *more, evaluation_every=0, saving_every=1000)
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    program = [sys.executable, "-c", PROGRAM, how, *line]
    how_run: dict[str, Any] = {"stderr": subprocess.PIPE, **streams}
    return subprocess.Popen(program, env=environment, text=True, **how_run)


def shown(run: Path) -> int:
    """Steps that the report of a run knows; -1 where there is none. It is whole whenever it is read."""
    path = run / "report.html"
    if not path.exists():
        return -1
    page = path.read_text()
    assert page.rstrip().endswith("</html>")
    found = re.search(r'"steps":\[([^\]]*)\]', page)
    assert found is not None
    return int(float(found[1].split(",")[-1])) if found[1] else 0


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("model") / "small")


@pytest.mark.turns(3)
@pytest.mark.usefixtures("in_front")
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_report_can_be_read_while_a_run_goes_and_after_it_was_stopped(
    number: int, model: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    process = begun(run, model)
    seen: set[int] = set()
    end = time.monotonic() + 120
    while len(seen) < 4 and time.monotonic() < end:
        seen.add(shown(run))
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.02)
    assert len(seen) >= 4, "the report did not grow with the run"
    process.send_signal(number)
    _, told = process.communicate(timeout=120)
    assert process.returncode == 75, told
    assert shown(run) == max(steps_of(run))


@pytest.mark.usefixtures("in_front")
@pytest.mark.slow
def test_a_run_whose_terminal_is_gone_saves_and_stops(model: Path, tmp_path: Path) -> None:
    """As when the connection to another machine is lost: nothing that it says can be written any more."""
    run, (terminal, inside) = tmp_path / "run", pty.openpty()
    ends = dict.fromkeys(("stdin", "stdout", "stderr"), inside)
    process = begun(run, model, quiet=False, start_new_session=True, preexec_fn=take_terminal, **ends)
    os.close(inside)
    reader = threading.Thread(target=lambda: drained(terminal, lambda: shown(run) >= 3))
    reader.start()
    reader.join(timeout=120)
    assert process.poll() is None and shown(run) >= 3
    os.close(terminal)
    assert process.wait(timeout=120) == 75
    saved = RunFolder.read_only(run).load()
    assert saved is not None and saved.step == max(steps_of(run)) > 0


def take_terminal() -> None:
    """Makes the standard input the terminal of this session."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def drained(terminal: int, enough: Callable[[], bool]) -> None:
    """Reads what a program writes to its terminal."""
    while not enough():
        if select.select([terminal], [], [], 0.05)[0]:
            os.read(terminal, 1 << 16)


@pytest.mark.slow
def test_a_run_that_fails_leaves_its_report(model: Path, tmp_path: Path) -> None:
    process = begun(tmp_path / "run", model, "raise")
    _, told = process.communicate(timeout=120)
    assert process.returncode == 70 and "a fault" in told
    assert shown(tmp_path / "run") == 3


@pytest.mark.slow
def test_a_run_that_is_over_has_its_report_before_anybody_asks(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import assay

    settings = {"scale.num_prompts": 2, "scale.group_size": 2, "scale.max_new": 6, "evaluation.every": 0}
    settings |= {"evaluation.final_problems": 2, "evaluation.final_samples": 2, "machine.threads": 1}
    common = {"task": "countdown", "levels": (3,), "model": str(model), "quiet": True, "settings": settings}
    run = assay.train("grpo", run=tmp_path / "run", steps=2, **common)
    assert shown(run.path) == 2
    assert Shell(capsys)("report", run.path).code == 0
