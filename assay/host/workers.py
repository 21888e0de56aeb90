"""Worker processes that can be killed, for work on text of a model: such text may hang any library that reads it.

A worker is a fresh interpreter with few environment variables. It answers one job at a time, in lines of JSON over its
standard streams, each job in a fork of its own (`assay.host.worker` is the worker's side). The kernel counts the
processor time of a job and kills it when its seconds are used up. Because processor time is counted and not the clock,
a busy machine changes no outcome. The parent is never forked, no thread is killed, and the parent waits for no signal.
"""

from __future__ import annotations

import atexit
import contextlib
import itertools
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
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any, Literal, Self

from assay.errors import ConfigError
from assay.host.worker import CRASHES, Preparation

START_SECONDS = 120.0  # imports of a cold disk
STARVED = 30  # a job still running after so many times its seconds by the clock got no processor time
PATIENCE = 60.0  # seconds by the clock that every job has at least
TRIES = 2  # of a job whose process crashes or is lost
MOST = 8  # processes by default: each takes some hundred megabytes
PASSED = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "SYSTEMROOT")

Json = Any


@dataclass(frozen=True)
class Outcome:
    """The result of a job, or how the job ended without one: `Outcome("done", result=42)`.

    `error`: it raised; `time` and `memory`: it exceeded its limit; `crash`: a library gave up its process, twice;
    `lost`: its process ended for an unknown reason, twice.
    """

    status: Literal["done", "error", "time", "memory", "crash", "lost"]
    result: Json = None
    reached: str = ""  # the job's last report of how far it had come
    detail: str = ""
    seconds: float = 0.0  # processor time of the job


@dataclass(eq=False)
class _Job:
    content: Json
    seconds: float
    tries: int = 0


@dataclass(eq=False)
class _Worker:
    process: subprocess.Popen[bytes]
    errors: IO[bytes]
    pending: bytes = b""
    ready: bool = False
    job: int | None = None  # ticket of the job that it works on
    began: float = 0.0
    until: float = 0.0
    reached: str = ""
    ended: bool = False


class Workers:
    """A pool of worker processes for one function, written `module:function`, of type `assay.host.worker.Answer`.

    with Workers("package.module:answer", deadline=2.0) as workers:
        outcomes = workers.map([{"question": 1}, {"question": 2}])

    The processes start with the first job. They end with `close`, with the program, or with the last reference to the
    pool. A job has `deadline` seconds of processor time in all, beside those of its `preparation`.

    Jobs can also be handed in one by one, while the caller does something else, and their outcomes be fetched later:

        ticket = workers.submit({"question": 3})
        (outcome,) = workers.collect([ticket])

    A process that is done gets its next job when the pool is called again (`submit`, `poll`, `collect` or `map`). The
    outcome of a job depends neither on the order of these calls nor on what other jobs there are.
    """

    def __init__(
        self,
        function: str,
        *,
        count: int = 0,
        deadline: float = 5.0,
        memory_mb: int = 1024,
        keeps: bool = False,  # whether a process keeps something from job to job, and so answers without a fork
        loads: Sequence[str] = (),  # modules that the function imports when it is first used
        preparation: Preparation | None = None,
    ) -> None:
        self.function, self.keeps, self.loads, self.preparation = function, keeps, tuple(loads), preparation
        self.count = count or max(2, min(MOST, len(os.sched_getaffinity(0))))
        self.deadline, self.memory_mb = deadline, memory_mb
        self.started = 0  # processes so far
        self._killed = 0  # processes that somebody killed as they started, since one was last ready
        self._workers: list[_Worker] = []
        self._tickets = itertools.count()
        self._jobs: dict[int, _Job] = {}  # those without an outcome, by ticket
        self._waiting: deque[int] = deque()  # tickets that no process works on, the next first
        self._outcomes: dict[int, Outcome] = {}  # not yet collected
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def warm(self) -> None:
        """Starts the processes without waiting for them."""
        with self._lock:
            self._fill(self.count)

    def map(self, jobs: Sequence[Json], *, seconds: float | None = None) -> list[Outcome]:
        """One outcome for each job, in the order of the jobs, which run in parallel.

        Each job has `seconds` of processor time, by default the deadline. A job whose process crashes or is lost is
        tried again once.
        """
        with self._lock:
            return self._await([self._enter(job, seconds) for job in jobs])

    def submit(self, job: Json, *, seconds: float | None = None) -> int:
        """Hands a job in without waiting for it. Returns the ticket with which `collect` fetches its outcome."""
        with self._lock:
            ticket = self._enter(job, seconds)
            with self._giving_up([ticket]):
                self._turn(patience=0.0)
            return ticket

    def poll(self) -> set[int]:
        """Hears which jobs are done and hands out the next ones, without waiting.

        Returns the tickets whose outcomes `collect` has at once.
        """
        with self._lock, self._giving_up([]):
            self._turn(patience=0.0)
            return set(self._outcomes)

    def collect(self, tickets: Sequence[int]) -> list[Outcome]:
        """Waits for the outcomes of these tickets and returns them in this order. Each can be collected once."""
        with self._lock:
            unknown = [ticket for ticket in tickets if ticket not in self._jobs and ticket not in self._outcomes]
            if unknown or len(set(tickets)) < len(tickets):
                raise ValueError(f"a ticket is collected once, and before the pool is closed: {unknown or tickets}")
            return self._await(tickets)

    def close(self) -> None:
        """Ends all processes and waits for them. Outcomes that were not collected are lost."""
        with self._lock:
            self._drop(self._workers)
            for kept in (self._jobs, self._waiting, self._outcomes):
                kept.clear()
        _OPEN.discard(self)

    def _enter(self, job: Json, seconds: float | None) -> int:
        ticket = next(self._tickets)
        self._jobs[ticket] = _Job(job, self.deadline if seconds is None else seconds)
        self._waiting.append(ticket)
        return ticket

    def _await(self, tickets: Sequence[int]) -> list[Outcome]:
        with self._giving_up(tickets):
            while any(ticket in self._jobs for ticket in tickets):
                self._turn(patience=1.0)
        return [self._outcomes.pop(ticket) for ticket in tickets]

    @contextlib.contextmanager
    def _giving_up(self, tickets: Sequence[int]) -> Iterator[None]:
        """After an error or an interrupt these tickets are forgotten, and all processes end.

        Otherwise a late answer to one of these jobs could be taken for the answer to the next job. The jobs of other
        tickets that were being worked on begin anew.
        """
        try:
            yield
        except BaseException:
            begun = sorted(worker.job for worker in self._workers if worker.job is not None)
            self._drop(self._workers)
            for ticket in begun:
                self._jobs[ticket].tries -= 1
            self._waiting.extendleft(reversed(begun))
            for ticket in tickets:
                self._outcomes.pop(ticket, None)
                if self._jobs.pop(ticket, None) is not None:
                    self._waiting.remove(ticket)
            raise

    def _turn(self, *, patience: float) -> None:
        """Hands out waiting jobs, then hears answers; waits so many seconds at most if there are none."""
        self._fill(len(self._jobs))
        self._give_out()
        for worker, outcome in self._listen(patience):
            ticket, worker.job = worker.job, None
            if worker.ended or outcome.status == "lost":
                self._drop([worker])
            if ticket is None:
                continue
            if outcome.status in ("crash", "lost") and self._jobs[ticket].tries < TRIES:
                self._waiting.appendleft(ticket)
            else:
                del self._jobs[ticket]
                self._outcomes[ticket] = outcome
        self._give_out()

    def _give_out(self) -> None:
        for worker in self._workers:
            if worker.ready and worker.job is None and self._waiting:
                ticket = self._waiting.popleft()
                job = self._jobs[ticket]
                job.tries += 1
                _give(worker, ticket, job, before=self.preparation.seconds if self.preparation else 0.0)

    def _fill(self, wanted: int) -> None:
        while len(self._workers) < min(self.count, wanted):
            self._workers.append(self._start())
            self.started += 1
            _OPEN.add(self)

    def _start(self) -> _Worker:
        environment = {name: os.environ[name] for name in PASSED if name in os.environ}
        environment |= {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "PYTHONHASHSEED": "0"}
        environment |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        errors = tempfile.TemporaryFile()  # noqa: SIM115
        prepared = self.preparation and (self.preparation.mark, self.preparation.seconds)
        settings = f"keeps={self.keeps}, loads={self.loads}, preparation={prepared}"
        program = f"from assay.host.worker import serve; serve({self.function!r}, {self.memory_mb}, {settings})"
        command = [sys.executable, "-c", program]
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env=environment, bufsize=0
            )
        except OSError as error:
            errors.close()
            raise ConfigError(f"no worker process can be started: {error}. Running fewer programs may help.") from None
        return _Worker(process, errors, began=time.monotonic())

    def _listen(self, patience: float) -> list[tuple[_Worker, Outcome]]:
        """Outcomes of workers that have answered or ended; waits `patience` seconds at most if there are none."""
        outcomes: list[tuple[_Worker, Outcome]] = []
        with selectors.DefaultSelector() as selector:
            for worker in self._workers:
                if worker.job is not None or not worker.ready:
                    assert worker.process.stdout is not None
                    selector.register(worker.process.stdout, selectors.EVENT_READ, worker)
            events = selector.select(self._patience(patience)) if selector.get_map() else []
        for key, _ in events:
            worker = key.data
            data = os.read(key.fd, 1 << 16)
            worker.until = max(worker.until, time.monotonic() + PATIENCE)  # a long answer is heard in several pieces
            outcomes += self._read(worker, data) if data else [(worker, self._ended(worker))]
        heard = {id(worker) for worker, _ in outcomes}
        late = [worker for worker in self._workers if id(worker) not in heard and self._late(worker)]
        starved = "the worker process was given no processor"
        return outcomes + [(worker, Outcome("lost", reached=worker.reached, detail=starved)) for worker in late]

    def _patience(self, most: float) -> float:
        now = time.monotonic()
        left = [worker.until - now for worker in self._workers if worker.job is not None]
        return min(max(min(left, default=most), 0.02), most)

    def _read(self, worker: _Worker, data: bytes) -> list[tuple[_Worker, Outcome]]:
        *lines, worker.pending = (worker.pending + data).split(b"\n")
        found = []
        for line in lines:
            message = json.loads(line)
            if "ready" in message:
                worker.ready, self._killed = True, 0
            elif "reached" in message:
                worker.reached = message["reached"]
            else:
                found.append((worker, Outcome(**message, reached=worker.reached)))
        return found

    def _ended(self, worker: _Worker) -> Outcome:
        """The outcome of a job whose process has ended; ConfigError if processes do not even start. One that was killed
        as it started, for example because memory was short, is replaced.
        """
        code = worker.process.wait()
        worker.ended = True
        self._killed += not worker.ready
        if not worker.ready and (code != -signal.SIGKILL or self._killed > TRIES * self.count):
            worker.errors.seek(0)
            printed = worker.errors.read()[-600:].decode(errors="replace").strip()
            raise ConfigError(f"a worker process for {self.function} did not start (exit code {code}): {printed}")
        if code == -signal.SIGPROF:
            return Outcome("time", reached=worker.reached)
        status = "crash" if -code in CRASHES else "lost"
        return Outcome(status, reached=worker.reached, detail=f"the worker process ended with code {code}")

    def _late(self, worker: _Worker) -> bool:
        if not worker.ready:
            if time.monotonic() - worker.began > START_SECONDS:
                raise ConfigError(f"a worker process for {self.function} was not ready within {START_SECONDS:.0f} s.")
            return False
        return worker.job is not None and time.monotonic() > worker.until

    def _drop(self, workers: Sequence[_Worker]) -> None:
        """Ends these processes, by force if need be, and waits until they are gone."""
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


def _give(worker: _Worker, ticket: int, job: _Job, *, before: float) -> None:
    worker.job, worker.reached = ticket, ""
    worker.until = time.monotonic() + max(PATIENCE, STARVED * (job.seconds + before))
    assert worker.process.stdin is not None
    line = json.dumps({"job": job.content, "seconds": job.seconds}) + "\n"
    with contextlib.suppress(OSError):  # `_listen` will notice that the process is gone
        worker.process.stdin.write(line.encode())
