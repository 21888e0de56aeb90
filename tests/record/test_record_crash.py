"""Every failpoint, every action: a toy run is killed or its disk fails, is resumed, and ends as the calm run does.

The toy is a linear recurrence with keyed noise, so its right end is computed here without any folder. Runs are forked
from one small server process: a fork costs milliseconds where an interpreter costs a third of a second.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.errors import AssayError
from assay.host import failpoint
from assay.record import RunFolder, disk, manifest
from assay.rng import Key

TOTAL, EVERY = 8, 2
IDENTITY = {"model": {"width": 4}, "seed": 7}
WEIGHTS = "policy/model.safetensors"
OF_RUNS = [name for name in failpoint.FAILPOINTS if name not in failpoint.OF_BANKS]


def noise(step: int) -> np.ndarray:
    return Key(7)("noise", step).generator().normal(size=4)


def score(step: int) -> float:
    return float(-abs(step - 2))  # the best checkpoint is an early one, which retention alone would drop


def train(path: Path) -> None:
    """What the loop does, in its order."""
    if (path / "run.json").exists():
        run = RunFolder.open(path, identity=IDENTITY)
    else:
        run = RunFolder.create(path, identity=IDENTITY)
    with run:
        checkpoint = run.load()
        run.rewind(checkpoint)
        start, weights = 0, np.zeros(4)
        if checkpoint:
            start, weights = checkpoint.step, checkpoint.tensors(WEIGHTS)["w"]
        for step in range(start + 1, TOTAL + 1):
            failpoint.failpoint("loop.collect")
            drawn = noise(step)
            failpoint.failpoint("loop.verify")
            weights = 0.9 * weights + drawn
            failpoint.failpoint("loop.update")
            run.append("metrics", {"step": step, "loss": float(weights.sum())})
            run.write_rollouts(step, {"step": [step], "tokens": [[step, step]]})
            failpoint.failpoint("loop.record")
            if step % EVERY == 0:
                run.append("evals", {"step": step, "score": score(step)})
                failpoint.failpoint("loop.save")
                run.save(
                    step,
                    tensors={WEIGHTS: {"w": weights}, "optimizer.safetensors": {"m": weights * 2}},
                    documents={"memory.json": {"drawn": drawn.tolist()}},
                    files={"policy/tokenizer.json": b"{}"},
                    score=score(step),
                )


def serve() -> None:
    """One request a line: a run to train, a failpoint to arm, a file to list visited places in. Answers the exit."""
    import pyarrow.parquet  # noqa: F401
    import safetensors.numpy  # noqa: F401

    manifest.versions()  # this and the imports once here, not in every fork
    for request in map(json.loads, sys.stdin):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                code = _child(**request)
            finally:
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        sys.stdout.write(f"{code}\n")
        sys.stdout.flush()


def _child(path: str, spec: str | None, trace: str | None) -> int:
    failpoint.arm(spec)
    visited: list[str] = []
    if trace:

        def note(name: str, half: Any = None) -> None:
            visited.append(name)

        disk.failpoint = failpoint.failpoint = note
    try:
        train(Path(path))
    except AssayError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    finally:
        if trace:
            Path(trace).write_text("\n".join(visited))
    return 0


class Server:
    def __init__(self) -> None:
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        environment["PYTHONPATH"] = str(Path(disk.__file__).parents[2])
        self.process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            text=True,
        )

    def train(self, path: Path, spec: str | None = None, trace: Path | None = None) -> int:
        assert self.process.stdin and self.process.stdout
        request = {"path": str(path), "spec": spec, "trace": str(trace) if trace else None}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def close(self) -> None:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: thousands of fsyncs of a disk prove nothing more to a killed process."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


def calm() -> tuple[np.ndarray, list[dict[str, Any]]]:
    """Final weights and metrics of a run that nothing disturbs, without any file."""
    weights, metrics = np.zeros(4), []
    for step in range(1, TOTAL + 1):
        weights = 0.9 * weights + noise(step)
        metrics.append({"step": step, "loss": float(weights.sum())})
    return weights, metrics


def assert_ended_well(path: Path, *, lost_saves: int = 0, lost_rollouts: int = 0) -> None:
    weights, metrics = calm()
    run = RunFolder.read_only(path)
    assert run.read("metrics") == metrics
    assert run.read("evals") == [{"step": s, "score": score(s)} for s in range(EVERY, TOTAL + 1, EVERY)]
    missing = set(range(1, TOTAL + 1)) - set(run.rollout_steps())
    assert len(missing) <= lost_rollouts
    for step in run.rollout_steps():
        assert run.rollouts(step) == {"step": [step], "tokens": [[step, step]]}
    steps = run.store.steps()
    if not lost_saves:
        # A kill between the last commit and the removals leaves one more; nobody saves after it.
        assert {2, TOTAL - EVERY, TOTAL} <= set(steps) and len(steps) <= 4
        best = run.best()
        assert best is not None and best.step == 2
    assert len(steps) >= 2
    for step in steps:
        checkpoint = run.load(step)
        assert checkpoint is not None
        state = np.zeros(4)
        for earlier in range(1, step + 1):
            state = 0.9 * state + noise(earlier)
        assert checkpoint.tensors(WEIGHTS)["w"].tobytes() == state.tobytes()
    if not lost_saves:
        newest = run.load()
        assert newest is not None and newest.tensors(WEIGHTS)["w"].tobytes() == weights.tobytes()
    assert not [p for p in path.rglob("*") if p.name.startswith((".tmp-", ".trash-"))]


@pytest.fixture(scope="module")
def interrupted(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run killed at its eighth step, whose newest checkpoint is damaged, with leftovers of a save and a removal."""
    path = tmp_path_factory.mktemp("interrupted") / "run"
    assert server.train(path, "loop.record:kill:8") == -9
    assert RunFolder.read_only(path).store.steps() == [2, 4, 6]
    weights = path / "ckpt/step-00000006" / WEIGHTS
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    for leftover in (".tmp-8-x", ".trash-x"):
        (path / "ckpt" / leftover).mkdir()
        (path / "ckpt" / leftover / "part").write_bytes(b"x")
    return path


@pytest.mark.slow
def test_the_calm_run_ends_as_the_formula_says(server: Server, place: Path) -> None:
    assert server.train(place / "run") == 0
    assert_ended_well(place / "run")


@pytest.mark.slow
def test_the_toy_visits_every_failpoint(server: Server, interrupted: Path, place: Path) -> None:
    """Else a place of the list could be armed in these tests and never reached."""
    shutil.copytree(interrupted, place / "resumed")
    assert server.train(place / "new", trace=place / "a") == 0
    assert server.train(place / "resumed", trace=place / "b") == 0
    assert_ended_well(place / "resumed")
    visited = {*(place / "a").read_text().split(), *(place / "b").read_text().split()}
    assert visited == set(OF_RUNS)


def disturb(server: Server, path: Path, spec: str) -> None:
    """Arm one failpoint once; whatever comes of it, a plain resume ends well."""
    name, action = spec.split(":")[:2]
    code = server.train(path, spec)
    if action in ("kill", "short"):
        assert code in (-9, 0)  # 0: this run never came to that place
    else:
        assert code in (0, 74 if not name.startswith("loop.") else code)
    lost_saves = lost_rollouts = 0
    if code == 0:
        lost_saves = int(action in ("enospc", "eio") and name.startswith(("checkpoint", "jsonl", "retention", "best")))
        lost_rollouts = int(action in ("enospc", "eio") and name.startswith("rollouts"))
    if code != 0 or name.startswith("retention"):  # what could not be removed is removed at the next start
        assert server.train(path) == 0
    assert_ended_well(path, lost_saves=lost_saves, lost_rollouts=lost_rollouts)


STORE = [name for name in OF_RUNS if not name.startswith("loop.")]
KILLED = [name for name in OF_RUNS if name.startswith(("checkpoint.after", "retention", "best.", "loop."))]
REFUSED = [name for name in STORE if ".before_" in name and not name.startswith(("run.", "best."))]


@pytest.mark.turns(3)
@pytest.mark.slow
@pytest.mark.parametrize("name", KILLED)
def test_kill_in_a_new_run(server: Server, place: Path, name: str) -> None:
    disturb(server, place / "run", f"{name}:kill:2")


@pytest.mark.slow
@pytest.mark.parametrize("name", REFUSED)
def test_full_disk_in_a_resumed_run(server: Server, interrupted: Path, place: Path, name: str) -> None:
    shutil.copytree(interrupted, place / "run")
    disturb(server, place / "run", f"{name}:enospc")


@pytest.mark.slow
def test_one_run_survives_many_crashes(server: Server, place: Path) -> None:
    crashes = (
        "run.after_write:kill",
        "loop.update:kill:2",
        "loop.record:kill:2",  # two steps on, and dead before the save: no progress
        "loop.record:kill:2",
        "jsonl.before_write:short:3",
        "checkpoint.before_fsync:kill",
        "loop.record:kill:3",
        "orphan.after_rename:kill",
        "jsonl.before_truncate:kill",
        "rewind.after_rename:kill",
        "loop.collect:kill:3",
        "checkpoint.after_rename:kill",
        "loop.record:kill:2",
        "retention.after_rename:kill",
        "sweep.before_remove:kill",
    )
    for spec in crashes:
        assert server.train(place / "run", spec) == -9, spec
    assert server.train(place / "run") == 0
    assert_ended_well(place / "run")


ALL = [f"{name}:{action}" for name in STORE for action in ("kill:1", "kill:3", "enospc:1", "eio:2")]
ALL += [f"{name}:short:{nth}" for name in STORE if name.endswith("before_write") for nth in (1, 2, 3)]


@pytest.mark.turns(3)
@pytest.mark.slow
@pytest.mark.parametrize("spec", ALL)
def test_every_place_in_a_new_and_in_a_resumed_run(server: Server, interrupted: Path, place: Path, spec: str) -> None:
    shutil.copytree(interrupted, place / "resumed")
    disturb(server, place / "new", spec)
    disturb(server, place / "resumed", spec)


if __name__ == "__main__":
    serve()
