"""Twenty processes of a run are killed at random, its driver among them: it ends with the bits of a calm run.

On one machine, and in a Ray cluster of its own, whose raylet and control store are killed too.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from processes import gone
from small_runs import GRADED, ROOT, came_to, make_model, steps_of, train_line

KILLS = 20
PATIENCE = 420.0  # seconds for a whole run on one machine
CLUSTER = 1200.0  # in a cluster, which starts anew after many a kill
STEPS = 24
SLOW = "ASSAY_TEST_SLOW"  # seconds of a call of the reward function
KINDS = {
    "remote.keeper": "keeper",
    "remote.server": "server",
    "remote.placed": "server",
    "sharded.rank": "rank",
    "functions": "reward",
    "cluster.broker": "broker",
    "raylet/raylet": "raylet",
    "gcs_server": "store",
    "ray::Seat": "seat",
}
"""What a process of a run is -> by what its command line shows it."""


def descendants(of: int) -> list[int]:
    """All living processes below this one."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
            except (FileNotFoundError, ProcessLookupError):
                continue
            if state != "Z":
                parents[int(entry.name)] = int(parent)
    found = [of]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found[1:]


def kind_of(pid: int) -> str:
    """What a process of a run is, from its command line."""
    try:
        line = (Path("/proc") / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode()
    except (FileNotFoundError, ProcessLookupError):
        return "gone"
    return next((kind for part, kind in KINDS.items() if part in line), "other")


class Driver:
    """`assay ARGUMENTS` in a process of its own."""

    def __init__(self, arguments: list[str], log: Path) -> None:
        env = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
        with log.open("ab") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "assay", *arguments], stdout=file, stderr=file, env=env
            )

    @property
    def over(self) -> bool:
        return self.process.poll() is not None


@pytest.fixture
def drivers() -> Iterator[list[Driver]]:
    started: list[Driver] = []
    yield started
    for driver in started:
        driver.process.kill()
        driver.process.wait(timeout=20)


@pytest.mark.parametrize(
    ("more", "patience", "pause", "step"),
    [
        pytest.param((), PATIENCE, (0.5, 6.0), 3.0, marks=pytest.mark.deep, id="machine"),
        pytest.param(("--machine.cluster", "auto"), CLUSTER, (4.0, 20.0), 4.0, marks=pytest.mark.scale, id="cluster"),
    ],
)
def test_a_run_that_loses_twenty_processes_ends_with_the_bits_of_one_that_lost_none(
    tmp_path: Path,
    drivers: list[Driver],
    monkeypatch: pytest.MonkeyPatch,
    more: tuple[str, ...],
    patience: float,
    pause: tuple[float, float],
    step: float,
) -> None:
    """The calm run has no cluster: it is the same to the bits where processes lie. The other one takes `step` seconds
    more for each step, so that it does not end before it has lost as many as it is to lose.
    """
    model = make_model(tmp_path / "model")
    slow = f"import os, time\n{GRADED}".replace(
        "    return", f"    time.sleep(float(os.environ[{SLOW!r}]))\n    return"
    )
    (tmp_path / "graded.py").write_text(slow)
    monkeypatch.setenv(SLOW, "0")
    told = ["--machine.precision", "fp32", "--machine.deadline", "60", "--machine.restarts", "100"]
    told += ["--machine.learners", "2", "--machine.samplers", "2", "--reward", f"{tmp_path / 'graded.py'}:graded"]
    told += ["--mechanism.collect", "ahead", "--mechanism.collect.0.lag", "1", "--saving.rollouts-every", "1"]
    calm, hurt, log = tmp_path / "calm", tmp_path / "hurt", tmp_path / "log"

    def line(run: Path, *more: str) -> list[str]:
        arguments = train_line(model, run, *told, *more, evaluation_every=8)
        arguments[arguments.index("--steps") + 1] = str(STEPS)
        return arguments

    drivers.append(Driver(line(calm), log))
    assert drivers[-1].process.wait(timeout=patience) == 0, log.read_text()

    monkeypatch.setenv(SLOW, str(step))
    draw, killed, began = random.Random(20), Counter[str](), time.monotonic()
    drivers.append(Driver(line(hurt, *more), log))
    seen: set[int] = set()
    while time.monotonic() - began < patience:
        driver = drivers[-1]
        if driver.over:
            if driver.process.returncode == 0 and killed.total() >= KILLS:
                break
            assert driver.process.returncode in (0, -signal.SIGKILL, 69, 75), log.read_text()
            if driver.process.returncode == 0:
                pytest.fail(f"the run ended after {killed.total()} kills of {KILLS}: {killed}")
            assert all(gone(pid, within=15.0) for pid in seen), "processes outlive their driver"
            again = ["resume", str(hurt)] if (hurt / "run.json").exists() else line(hurt, *more)
            drivers.append(Driver(again, log))
            seen.clear()
        if killed.total() < KILLS:
            time.sleep(draw.uniform(*pause))
            below = descendants(driver.process.pid)
            seen |= set(below)
            kinds = {pid: kind_of(pid) for pid in sorted(below)} | {driver.process.pid: "driver"}
            known = sorted({*kinds.values()} - {"gone", "other"})
            rarest = min(killed[kind] for kind in known)  # each kind in turn, or some would never be drawn
            kind = draw.choice([kind for kind in known if killed[kind] == rarest])
            chosen = draw.choice([pid for pid, one in kinds.items() if one == kind])
            try:
                os.kill(chosen, signal.SIGKILL)
                killed[kind] += 1
            except ProcessLookupError:
                continue
        else:
            time.sleep(0.2)
    print(killed, time.monotonic() - began)
    assert drivers[-1].over and drivers[-1].process.returncode == 0, f"{killed}\n{log.read_text()[-4000:]}"
    assert {"driver", "rank", "server", *(["raylet"] if more else [])} <= killed.keys(), killed

    last, files, metrics, exams = came_to(calm)
    again, found, measured, examined = came_to(hurt)
    assert (last, exams) == (again, examined) and steps_of(hurt) == [*range(1, STEPS + 1)]
    assert files.keys() == found.keys() and all(found[name] == content for name, content in files.items())
    assert metrics == measured
    for number in range(1, STEPS + 1):
        one, other = (rows_of(run, number) for run in (calm, hurt))
        assert one == other and len(one) == len(set(one)) == 4, "each request is trained once"


def rows_of(run: Path, step: int) -> list[tuple[str, int]]:
    """(group, sample) of each row that a step trained on."""
    table = pq.read_table(run / "rollouts" / f"step-{step:08d}.parquet")
    return [(row["group"], row["sample"]) for row in table.select(["group", "sample"]).to_pylist()]
