"""Work in processes that can be killed: what a model wrote may hang any library that reads it.

A worker is a fresh interpreter with few environment variables that answers one job at a time, in lines of JSON over
its standard streams. The parent holds the clock: a job that is past its deadline loses its process, whatever that is
doing, and a new one takes its place. Nothing is forked, no thread is killed, no signal is awaited in the parent.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal, Self

from assay.errors import ConfigError

START_SECONDS = 120.0  # imports of a cold disk
STARVED = 4  # a job that got less of a processor than its deadline may wait so many times as long
LIFE = 2_000  # jobs of one process: libraries keep what they have seen
PASSED = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "SYSTEMROOT")

Json = Any
Answer = Callable[[Json, Callable[[str], None]], Json]
"""(job, tell) -> its result; `tell` reports how far it came, which outlives the process."""


@dataclass(frozen=True)
class Outcome:
    """Of a job: its result, or how it ended without one. `lost` is no fault of the job's that is known."""

    status: Literal["done", "error", "time", "memory", "lost"]
    result: Json = None
    reached: str = ""  # what it told last
    detail: str = ""


@dataclass(eq=False)
class _Worker:
    process: subprocess.Popen[bytes]
    errors: IO[bytes]
    pending: bytes = b""
    ready: bool = False
    jobs: int = 0
    job: int | None = None  # its index
    began: float = 0.0
    spent: float = 0.0  # processor seconds at that moment
    reached: str = ""


class Workers:
    """A pool for one function, `module:function` of type `Answer`. It starts with the first job and ends with `close`,
    with the program, or when nobody holds it any more.
    """

    def __init__(
        self, function: str, *, count: int = 0, deadline: float = 5.0, memory_mb: int = 1024, life: int = LIFE
    ) -> None:
        self.function = function
        self.count = count or max(1, (os.cpu_count() or 1) // 4)
        self.deadline, self.memory_mb, self.life = deadline, memory_mb, life
        self.started = 0  # processes so far
        self._workers: list[_Worker] = []
        self._lock = threading.Lock()
        _OPEN.add(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def warm(self) -> None:
        """Starts the processes without waiting for them."""
        with self._lock:
            self._fill()

    def map(self, jobs: Sequence[Json]) -> list[Outcome]:
        """An outcome for each job, in their order. A job whose process is lost is tried once more."""
        if not jobs:
            return []
        with self._lock:
            try:
                return self._map(jobs)
            except BaseException:
                self._drop(self._workers)  # a job half done would answer the next one
                raise

    def close(self) -> None:
        """Ends all processes and waits for them."""
        with self._lock:
            self._drop(self._workers)
        _OPEN.discard(self)

    def _map(self, jobs: Sequence[Json]) -> list[Outcome]:
        outcomes: dict[int, Outcome] = {}
        waiting = list(range(len(jobs)))[::-1]
        tries = [0] * len(jobs)
        while len(outcomes) < len(jobs):
            self._fill()
            for worker in self._workers:
                if worker.ready and worker.job is None and waiting:
                    index = waiting.pop()
                    tries[index] += 1
                    _give(worker, index, jobs[index], self.deadline)
            for worker, outcome in self._listen():
                index, worker.job = worker.job, None
                if outcome.status not in ("done", "error") or worker.jobs >= self.life:
                    self._drop([worker])
                if index is None:
                    continue
                if outcome.status == "lost" and tries[index] < 2:
                    waiting.append(index)
                else:
                    outcomes[index] = outcome
        return [outcomes[i] for i in range(len(jobs))]

    def _fill(self) -> None:
        while len(self._workers) < self.count:
            self._workers.append(self._start())
            self.started += 1

    def _start(self) -> _Worker:
        environment = {name: os.environ[name] for name in PASSED if name in os.environ}
        environment |= {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "PYTHONHASHSEED": "0"}
        environment |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        errors = tempfile.TemporaryFile()  # noqa: SIM115
        program = f"from assay.verify.workers import serve; serve({self.function!r}, {self.memory_mb})"
        command = [sys.executable, "-c", program]
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env=environment, bufsize=0
            )
        except OSError as error:
            errors.close()
            raise ConfigError(
                f"no worker process can be started: {error}. Fewer programs at a time may help."
            ) from None
        return _Worker(process, errors, began=time.monotonic())

    def _listen(self) -> list[tuple[_Worker, Outcome]]:
        """What workers answered by now, or how they ended; waits a little if nothing happens."""
        found: list[tuple[_Worker, Outcome]] = []
        with selectors.DefaultSelector() as selector:
            for worker in self._workers:
                if worker.job is not None or not worker.ready:
                    assert worker.process.stdout is not None
                    selector.register(worker.process.stdout, selectors.EVENT_READ, worker)
            events = selector.select(self._patience())
        for key, _ in events:
            worker = key.data
            data = os.read(key.fd, 1 << 16)
            found += self._read(worker, data) if data else [(worker, self._ended(worker))]
        heard = {id(worker) for worker, _ in found}
        late = [worker for worker in self._workers if id(worker) not in heard and self._late(worker)]
        return found + [(worker, Outcome("time", reached=worker.reached)) for worker in late]

    def _patience(self) -> float:
        now = time.monotonic()
        left = [worker.began + self.deadline - now for worker in self._workers if worker.job is not None]
        return min(max(min(left, default=1.0), 0.02), 1.0)

    def _read(self, worker: _Worker, data: bytes) -> list[tuple[_Worker, Outcome]]:
        *lines, worker.pending = (worker.pending + data).split(b"\n")
        found = []
        for line in lines:
            message = json.loads(line)
            if "ready" in message:
                worker.ready = True
            elif "reached" in message:
                worker.reached = message["reached"]
            else:
                worker.jobs += 1
                found.append((worker, Outcome(**message, reached=worker.reached)))
        return found

    def _ended(self, worker: _Worker) -> Outcome:
        """A process that is gone: by its own limit of processor time, by one that never started, or by anything."""
        code = worker.process.wait()
        if not worker.ready:
            worker.errors.seek(0)
            said = worker.errors.read()[-600:].decode(errors="replace").strip()
            raise ConfigError(f"a worker process for {self.function} did not start (exit code {code}): {said}")
        if code == -signal.SIGXCPU:
            return Outcome("time", reached=worker.reached)
        return Outcome("lost", reached=worker.reached, detail=f"the worker process ended with code {code}")

    def _late(self, worker: _Worker) -> bool:
        elapsed = time.monotonic() - worker.began
        if not worker.ready:
            if elapsed > START_SECONDS:
                raise ConfigError(f"a worker process for {self.function} was not ready within {START_SECONDS:.0f} s.")
            return False
        if worker.job is None or elapsed < self.deadline:
            return False
        worked = _processor_seconds(worker.process.pid) - worker.spent
        return worked >= 0.5 * self.deadline or elapsed >= STARVED * self.deadline

    def _drop(self, workers: Sequence[_Worker]) -> None:
        """Terminates, kills if that does not help, and waits, so that nothing is left behind."""
        for worker in list(workers):
            if worker.process.poll() is None:
                worker.process.kill() if worker.job is not None else worker.process.terminate()
        for worker in list(workers):
            try:
                worker.process.wait(timeout=2)
            except subprocess.TimeoutExpired:
                worker.process.kill()
                worker.process.wait()
            for stream in (worker.process.stdin, worker.process.stdout, worker.errors):
                if stream is not None:
                    with contextlib.suppress(OSError):
                        stream.close()
            self._workers.remove(worker)


_OPEN: weakref.WeakSet[Workers] = weakref.WeakSet()


@atexit.register
def close_all() -> None:
    for workers in list(_OPEN):
        workers.close()


def _give(worker: _Worker, index: int, job: Json, deadline: float) -> None:
    worker.job, worker.began, worker.reached = index, time.monotonic(), ""
    worker.spent = _processor_seconds(worker.process.pid)
    assert worker.process.stdin is not None
    line = json.dumps({"job": job, "seconds": STARVED * deadline}) + "\n"
    with contextlib.suppress(OSError):  # a process that is gone is noticed when it is listened to
        worker.process.stdin.write(line.encode())


def _processor_seconds(pid: int) -> float:
    """Of a running process, where the system tells; else a number at which nobody is called starved."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return time.monotonic()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# --- in the worker ------------------------------------------------------------------------------------------


def serve(function: str, memory_mb: int) -> None:
    """Answers jobs until the standard input ends. Ctrl-C is the parent's business."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    reply = os.dup(1)
    os.dup2(2, 1)  # what a library prints is no answer
    module, _, name = function.partition(":")
    answer: Answer = getattr(importlib.import_module(module), name)
    _limit_memory(memory_mb)

    def say(**message: Json) -> None:
        os.write(reply, json.dumps(message).encode() + b"\n")

    say(ready=True)
    for line in sys.stdin.buffer:
        message = json.loads(line)
        _limit_seconds(message["seconds"])
        try:
            say(status="done", result=answer(message["job"], lambda reached: say(reached=reached)))
        except MemoryError:
            say(status="memory")
        except Exception as error:  # of whatever library; its text may be as hostile as the job
            say(status="error", detail=type(error).__name__)


def _limit_memory(megabytes: int) -> None:
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        size = megabytes << 20
        resource.setrlimit(resource.RLIMIT_AS, (size, size))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _limit_seconds(seconds: float) -> None:
    """Of processor time from now on: a worker that nobody watches any more ends by itself."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time() + seconds) + 2, hard))
