"""A report that can be read while its run goes, and after any stop; what it costs is bounded."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from small_runs import ROOT, Shell, make_model, steps_of, train_line

from assay.errors import StorageError
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


def begun(run: Path, model: Path, how: str = "train", steps: int = 3000) -> subprocess.Popen[str]:
    line = train_line(model, run, "--steps", str(steps), "--quiet", evaluation_every=0, saving_every=1000)
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    program = [sys.executable, "-c", PROGRAM, how, *line]
    return subprocess.Popen(program, env=environment, stderr=subprocess.PIPE, text=True)


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
