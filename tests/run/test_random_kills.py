"""A hundred processes are killed or stopped at random, several in each run: all runs end with the bits of a calm one.

On one machine, and in Ray clusters of the run's own, whose raylet, control store and broker are among the victims. What
is done to whom, and when, follows from the seed of a case; `-s` shows it.
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
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from processes import gone
from small_runs import ROOT, came_to, make_model, steps_of, train_line

STEPS = 16
HELD = STEPS - 3  # the step from which on answers are not judged before all has been done that is to be done
DEADLINE = 30.0  # seconds after which a rank or a server that says nothing is given up
SLOW = 2.0  # seconds of a call of the reward function
KINDS = {
    "servers.keeper": "keeper",
    "servers.own": "server",
    "servers.vllm": "server",
    "remote.server": "server",
    "sharded.rank": "rank",
    "functions": "reward",
    "cluster.program": "broker",
    "raylet/raylet": "raylet",
    "gcs_server": "store",
    "ray::Seat": "seat",
}
"""What a process of a run is -> by what its command line shows it."""
JUDGE = """
import os, time
from pathlib import Path

def graded(completions, **columns):
    time.sleep(float(os.environ["ASSAY_TEST_SLOW"]))
    while Path(os.environ["ASSAY_TEST_HOLD"]).exists():
        time.sleep(0.1)
    return [sum(map(ord, text)) % 7 / 6 for text in completions]
"""


@dataclass(frozen=True)
class Case:
    """A run, and how many of each kind of its processes are killed or stopped."""

    name: str
    seed: int
    kinds: tuple[str, ...]
    each: int
    pause: tuple[float, float]  # seconds between two of them
    patience: float  # seconds for all of it
    more: tuple[str, ...] = ()

    def plan(self) -> list[Harm]:
        draw = random.Random(f"{self.name} {self.seed}")
        kinds = list(self.kinds) * self.each
        draw.shuffle(kinds)
        return [Harm(kind, draw.uniform(*self.pause), _stop(draw), draw.random()) for kind in kinds]


@dataclass(frozen=True)
class Harm:
    """What is done to a process."""

    kind: str
    after: float  # seconds
    stopped: float  # seconds; 0.0: it is killed
    which: float  # of those of this kind, as a share


def _stop(draw: random.Random) -> float:
    """Six of ten are killed, three stopped for a moment, and one for longer than any deadline."""
    drawn = draw.random()
    return 0.0 if drawn < 0.6 else draw.uniform(0.5, 4.0) if drawn < 0.9 else 1.3 * DEADLINE


HERE = ("driver", "rank", "server", "keeper", "reward")
IN_A_CLUSTER = ("driver", "rank", "server", "seat", "reward", "broker", "raylet", "store")  # seats keep processes there
AUTO = ("--machine.cluster", "auto")
MACHINES = [Case("machine", seed, HERE, 2, (0.5, 6.0), 600.0) for seed in range(1, 5)]
CLUSTERS = [Case("cluster", seed, IN_A_CLUSTER, 1, (4.0, 20.0), 1200.0, AUTO) for seed in range(1, 9)]


def cases() -> Iterator[object]:
    """In four pieces, each of which takes less than eighty minutes even where every case needs all of its patience."""
    for number, case in enumerate([*MACHINES, *CLUSTERS]):
        piece = 1 if case.name == "machine" else 2 + (number - len(MACHINES)) // 3
        marks = [pytest.mark.scale] if number else [pytest.mark.scale, pytest.mark.deep]
        yield pytest.param(case, id=f"piece-{piece}-{case.name}-{case.seed}", marks=marks)


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


class Attempt:
    """A command, which is begun again as often as it is ended, and all processes that it had."""

    def __init__(self, begin: list[str], run: Path, log: Path, drivers: list[Driver], hold: Path) -> None:
        self.begin, self.run, self.log, self.drivers, self.hold = begin, run, log, drivers, hold
        self.seen: set[int] = set()
        self.let = False  # whether it may end
        self.lacks = False  # whether a process is waited for that a run which is held would never start again
        self.said = 0  # bytes of the log before the present command
        self._start()

    def _start(self) -> None:
        self.said = self.log.stat().st_size if self.log.exists() else 0
        again = ["resume", str(self.run)] if (self.run / "run.json").exists() else self.begin
        self.drivers.append(Driver(again, self.log))
        self.seen.clear()

    @property
    def driver(self) -> Driver:
        return self.drivers[-1]

    @property
    def told(self) -> str:
        """What the present command has said."""
        return self.log.read_bytes()[self.said :].decode(errors="replace")

    def look(self) -> None:
        """Notes the processes of the command, and holds the run before its end while there is more to do to them."""
        self.seen |= set(descendants(self.driver.process.pid))
        if self.lacks:
            self.hold.unlink(missing_ok=True)
        elif not self.let and done(self.run) >= HELD:
            self.hold.touch()

    def turn(self) -> bool:
        """Looks at the processes, and begins the command again where it was ended; False when the run is done."""
        self.look()
        if not self.driver.over:
            return True
        code = self.driver.process.returncode
        assert code in (0, -signal.SIGKILL, 69, 75), f"{code}: {self.told[-4000:]}"
        left = [pid for pid in self.seen if not gone(pid, within=20.0)]
        assert not left, f"processes outlive their driver: {[(pid, kind_of(pid)) for pid in left]}"
        if code == 0:
            return False
        if code > 0 and self.run.exists():
            assert "assay resume" in self.told, f"{code}: {self.told[-4000:]}"
        self._start()
        return True

    def of(self, kind: str) -> list[int]:
        if kind == "driver":
            return [self.driver.process.pid]
        return [pid for pid in sorted(descendants(self.driver.process.pid)) if kind_of(pid) == kind]


def harm(attempt: Attempt, one: Harm, *, until: float) -> None:
    """Waits until there is a process of this kind, and kills it or stops it for a time."""
    while not (found := attempt.of(one.kind)):
        attempt.lacks = True
        assert attempt.turn(), f"the run ended before it had a {one.kind}: {attempt.told[-4000:]}"
        assert time.monotonic() < until, f"no {one.kind}: {attempt.told[-4000:]}"
        time.sleep(0.2)
    attempt.lacks = False
    pid = found[int(one.which * len(found))]
    attempt.seen |= set(descendants(attempt.driver.process.pid))
    print(f"  {one.kind} {pid} {f'stopped for {one.stopped:.1f} s' if one.stopped else 'killed'}", flush=True)
    kind = kind_of(pid)
    try:
        os.kill(pid, signal.SIGSTOP if one.stopped else signal.SIGKILL)
    except ProcessLookupError:  # it has ended since: another one takes its place
        harm(attempt, one, until=until)
        return
    end = time.monotonic() + one.stopped
    while time.monotonic() < end:
        time.sleep(0.2)
        attempt.look()
    if one.stopped and kind_of(pid) == kind:
        os.kill(pid, signal.SIGCONT)


def line(model: Path, run: Path, judge: Path, *more: str, steps: int = STEPS) -> list[str]:
    told = ["--machine.precision", "fp32", "--machine.deadline", str(DEADLINE), "--machine.restarts", "100"]
    told += ["--machine.learners", "2", "--machine.samplers", "2", "--reward", f"{judge}:graded"]
    told += ["--mechanism.collect", "ahead", "--mechanism.collect.0.lag", "1", "--saving.rollouts-every", "1"]
    arguments = train_line(model, run, *told, *more, "--reward-timeout", "1200", evaluation_every=8)
    arguments[arguments.index("--steps") + 1] = str(steps)
    return arguments


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, a reward function, and a run that nothing has disturbed. It has no cluster: where processes lie is the
    same to the bits.
    """
    folder = tmp_path_factory.mktemp("place")
    (folder / "graded.py").write_text(JUDGE)
    arguments = line(make_model(folder / "model"), folder / "calm", folder / "graded.py")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_TEST_SLOW", "0")
        patch.setenv("ASSAY_TEST_HOLD", str(folder / "nothing"))
        calm = Driver(arguments, folder / "log")
        assert calm.process.wait(timeout=420.0) == 0, (folder / "log").read_text()
    return folder


@pytest.mark.parametrize("case", list(cases()))
def test_a_run_whose_processes_are_killed_and_stopped_ends_with_the_bits_of_one_that_lost_none(
    place: Path, tmp_path: Path, drivers: list[Driver], monkeypatch: pytest.MonkeyPatch, case: Case
) -> None:
    hold, hurt, began = tmp_path / "hold", tmp_path / "hurt", time.monotonic()
    monkeypatch.setenv("ASSAY_TEST_SLOW", str(SLOW))
    monkeypatch.setenv("ASSAY_TEST_HOLD", str(hold))
    plan, until = case.plan(), began + case.patience
    print(f"\n{case.name}, seed {case.seed}: {len(plan)} processes", flush=True)
    begin = line(place / "model", hurt, place / "graded.py", *case.more)
    attempt = Attempt(begin, hurt, tmp_path / "log", drivers, hold)
    for one in plan:
        pause = time.monotonic() + one.after
        while time.monotonic() < pause:
            assert attempt.turn(), f"the run ended too early: {attempt.told[-4000:]}"
            time.sleep(0.2)
        harm(attempt, one, until=until)
    attempt.let = True
    hold.unlink(missing_ok=True)
    while attempt.turn():
        assert time.monotonic() < until, f"the run does not end: {attempt.told[-4000:]}"
        time.sleep(0.2)
    seconds, commands = time.monotonic() - began, len(drivers)
    print(f"  {Counter(one.kind for one in plan)}, {commands} commands, {seconds:.0f} s", flush=True)
    require_the_same(place / "calm", hurt)


@pytest.mark.scale
def test_a_broker_that_is_killed_is_survived_inside_the_command(
    place: Path, tmp_path: Path, drivers: list[Driver], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice, while the run trains."""
    monkeypatch.setenv("ASSAY_TEST_SLOW", str(SLOW))
    monkeypatch.setenv("ASSAY_TEST_HOLD", str(tmp_path / "hold"))
    hurt, until = tmp_path / "hurt", time.monotonic() + 600.0
    begin = line(place / "model", hurt, place / "graded.py", *AUTO)
    attempt = Attempt(begin, hurt, tmp_path / "log", drivers, tmp_path / "hold")
    for step in (2, 5):
        while done(hurt) < step:
            assert attempt.turn() and time.monotonic() < until, attempt.told[-4000:]
            time.sleep(0.1)
        harm(attempt, Harm("broker", 0.0, 0.0, 0.0), until=until)
    attempt.let = True
    (tmp_path / "hold").unlink(missing_ok=True)
    while attempt.turn():
        assert time.monotonic() < until, attempt.told[-4000:]
        time.sleep(0.2)
    assert len(drivers) == 1 and attempt.told.count("All processes are started again from step") == 2, attempt.told
    require_the_same(place / "calm", hurt)


def done(run: Path) -> int:
    """How many steps a run has written down."""
    path = run / "metrics.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def require_the_same(calm: Path, hurt: Path) -> None:
    last, files, metrics, exams = came_to(calm)
    again, found, measured, examined = came_to(hurt)
    assert (last, exams) == (again, examined) and steps_of(hurt) == [*range(1, STEPS + 1)]
    assert files.keys() == found.keys() and all(found[name] == content for name, content in files.items())
    assert metrics == measured
    for number in range(1, STEPS + 1):
        one, other = (rows_of(run, number) for run in (calm, hurt))
        assert one == other and len(one) == len(set(one)) == 4, "each request is trained once"


def test_there_are_a_hundred_of_them_over_all_kinds_and_both_ways() -> None:
    plans = [one for case in (*MACHINES, *CLUSTERS) for one in case.plan()]
    kinds = Counter(one.kind for one in plans)
    assert len(plans) >= 100 and set(kinds) == {*HERE, *IN_A_CLUSTER} and min(kinds.values()) >= 8
    for kind in kinds:
        ways = {one.stopped > 0 for one in plans if one.kind == kind}
        assert ways == {True, False}, kind
    assert any(one.stopped > DEADLINE for one in plans)
    assert all(case.plan() == case.plan() for case in CLUSTERS)


def rows_of(run: Path, step: int) -> list[tuple[str, int]]:
    """(group, sample) of each row that a step trained on."""
    table = pq.read_table(run / "rollouts" / f"step-{step:08d}.parquet")
    return [(row["group"], row["sample"]) for row in table.select(["group", "sample"]).to_pylist()]
