"""Work in processes that can be killed: what a model wrote may hang any library that reads it.

A worker is a fresh interpreter with few environment variables that answers one job at a time, in lines of JSON over
its standard streams. The kernel holds the clock, which counts processor time of the worker: a job that has had its
seconds loses its process, whatever that is doing, and a new one takes its place. So a busy machine changes no outcome.
Nothing is forked, no thread is killed, no signal is awaited in the parent.
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
from typing import IO, Any, Literal, Self

from assay.errors import ConfigError

START_SECONDS = 120.0  # imports of a cold disk
STARVED = 30  # a job that is not done after so many times its seconds by the clock was given no processor
PATIENCE = 60.0  # seconds by the clock that every job has
MOST = 8  # processes by default: each takes some hundred megabytes
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
    seconds: float = 0.0  # of a processor, since it told that


@dataclass(eq=False)
class _Worker:
    process: subprocess.Popen[bytes]
    errors: IO[bytes]
    pending: bytes = b""
    ready: bool = False
    jobs: int = 0
    job: int | None = None  # its index
    began: float = 0.0
    until: float = 0.0
    reached: str = ""


class Workers:
    """A pool for one function, `module:function` of type `Answer`. It starts with the first job and ends with `close`,
    with the program, or when nobody holds it any more. `deadline`: processor seconds of a job, anew each time that it
    tells how far it came.
    """

    def __init__(
        self, function: str, *, count: int = 0, deadline: float = 5.0, memory_mb: int = 1024, life: int = LIFE
    ) -> None:
        self.function = function
        self.count = count or max(2, min(MOST, len(os.sched_getaffinity(0))))
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
            self._fill(self.count)

    def map(self, jobs: Sequence[Json], *, seconds: float | None = None) -> list[Outcome]:
        """An outcome for each job, in their order, all within `seconds` or the deadline. They run beside each other. A
        job whose process is lost is tried once more.
        """
        if not jobs:
            return []
        with self._lock:
            try:
                return self._map(jobs, self.deadline if seconds is None else seconds)
            except BaseException:
                self._drop(self._workers)  # a job half done would answer the next one
                raise

    def close(self) -> None:
        """Ends all processes and waits for them."""
        with self._lock:
            self._drop(self._workers)
        _OPEN.discard(self)

    def _map(self, jobs: Sequence[Json], seconds: float) -> list[Outcome]:
        outcomes: dict[int, Outcome] = {}
        waiting = list(range(len(jobs)))[::-1]
        tries = [0] * len(jobs)
        while len(outcomes) < len(jobs):
            self._fill(len(jobs) - len(outcomes))
            for worker in self._workers:
                if worker.ready and worker.job is None and waiting:
                    index = waiting.pop()
                    tries[index] += 1
                    _give(worker, index, jobs[index], seconds)
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

    def _fill(self, wanted: int) -> None:
        while len(self._workers) < min(self.count, wanted):
            self._workers.append(self._start())
            self.started += 1

    def _start(self) -> _Worker:
        environment = {name: os.environ[name] for name in PASSED if name in os.environ}
        environment |= {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "PYTHONHASHSEED": "0"}
        environment |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        errors = tempfile.TemporaryFile()  # noqa: SIM115
        program = f"from assay.host.workers import serve; serve({self.function!r}, {self.memory_mb})"
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
        starved = "the worker process was given no processor"
        return found + [(worker, Outcome("lost", reached=worker.reached, detail=starved)) for worker in late]

    def _patience(self) -> float:
        now = time.monotonic()
        left = [worker.until - now for worker in self._workers if worker.job is not None]
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
        if code == -signal.SIGPROF:
            return Outcome("time", reached=worker.reached)
        return Outcome("lost", reached=worker.reached, detail=f"the worker process ended with code {code}")

    def _late(self, worker: _Worker) -> bool:
        if not worker.ready:
            if time.monotonic() - worker.began > START_SECONDS:
                raise ConfigError(f"a worker process for {self.function} was not ready within {START_SECONDS:.0f} s.")
            return False
        return worker.job is not None and time.monotonic() > worker.until

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


def _give(worker: _Worker, index: int, job: Json, seconds: float) -> None:
    worker.job, worker.reached = index, ""
    worker.until = time.monotonic() + max(PATIENCE, STARVED * seconds)
    assert worker.process.stdin is not None
    line = json.dumps({"job": job, "seconds": seconds}) + "\n"
    with contextlib.suppress(OSError):  # a process that is gone is noticed when it is listened to
        worker.process.stdin.write(line.encode())


# --- in the worker ------------------------------------------------------------------------------------------


def serve(function: str, memory_mb: int) -> None:
    """Answers jobs until the standard input ends. Ctrl-C is the parent's business."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # a job that has had its seconds ends the process
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
        clock = _Clock(message["seconds"])

        def tell(reached: str, clock: _Clock = clock) -> None:
            say(reached=reached)
            clock.start()

        found: dict[str, Json]
        try:
            clock.start()
            found = {"status": "done", "result": answer(message["job"], tell)}
        except MemoryError:
            found = {"status": "memory"}
        except Exception as error:  # of whatever library; its text may be as hostile as the job
            found = {"status": "error", "detail": type(error).__name__}
        say(**found, seconds=clock.stop())


def _limit_memory(megabytes: int) -> None:
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        size = megabytes << 20
        resource.setrlimit(resource.RLIMIT_AS, (size, size))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class _Clock:
    """The kernel's, of this process's work: when it has run down, it ends the process, which nobody need watch."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.began = seconds, 0.0

    def start(self) -> None:
        self.began = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, self.seconds)

    def stop(self) -> float:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        return time.process_time() - self.began
