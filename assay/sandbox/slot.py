"""A slot: one sandbox with its forking process, and the trainer's side of a run in it.

A slot is started once and runs one program after another. The trainer's process reads what the program writes, keeps
the time and kills: nothing inside a sandbox is trusted to end by itself.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import math
import os
import signal
import socket
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.sandbox import cgroup, surroundings
from assay.sandbox.inside import confine, zygote
from assay.sandbox.interpreter import interpreter
from assay.sandbox.limits import Execution, Level, Limits, Ran, Status

SPARE_MB = 96  # of a group of processes, beside the limit of the program: the forking process, pipes
START_SECONDS = 60.0
LONGEST_WAIT = 30.0  # times its seconds, and `PATIENCE` more: a run that lasts so long by the clock is ended anyhow
PATIENCE = 30.0
SAMPLED = 0.25  # seconds after which the time of a run is looked at again
_STREAMS = ("output", "errors", "reply")


class SlotLost(Exception):
    """The sandbox ended or cannot be started. The program that it ran, if any, has no outcome."""


@dataclass(eq=False)
class _Running:
    """A run, from the fork that is asked for to its end. The program begins with `began`, and nothing of it before."""

    run: Execution
    read: dict[int, int]  # descriptor -> which stream it is
    mark: socket.socket  # over which its process says that all layers are on, and hears that it may begin
    until: float
    oom: int  # processes of the slot that the kernel had killed before
    handle: int | None = None  # a pidfd of its process
    began: float | None = None
    starved: float = 0.0  # seconds that it was given no processor before it began
    worked: float = 0.0  # seconds that it had worked or waited when it was last looked at
    data: list[bytearray] = field(default_factory=lambda: [bytearray() for _ in _STREAMS])
    killed: Status | None = None

    def close(self) -> None:
        self.mark.close()
        for number in (*self.read, *([] if self.handle is None else [self.handle])):
            os.close(number)


class Slot:
    """A sandbox of a level, for narrow runs or for one wide run.

    slot = Slot("L2", number=0); slot.begin(Execution("print(1)")); then `serve` until it returns the outcome

    `without` names layers that this slot pretends to have. Only the tests of the probe use it.
    """

    def __init__(self, level: Level, *, number: int, limits: Limits | None = None, without: Sequence[str] = ()) -> None:
        self.level: Level = level
        self.wide = None if limits is None or limits.narrow else limits
        self.running: _Running | None = None
        self.told: dict[str, Any] = {}
        self.user = surroundings.own_user(number) if os.geteuid() == 0 else 0
        self._without = without
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        self._group = None if "group" in without else cgroup.made()
        self._memory_mb = 0
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET, 0)
        self._process: subprocess.Popen[bytes] | None = None
        self._pid = 0
        try:
            self._start(theirs)
        except BaseException:
            theirs.close()
            self.close()
            raise

    def _start(self, theirs: socket.socket) -> None:
        told, tell = os.pipe()
        try:
            command = self._command(tell)
            self._process = subprocess.Popen(
                command,
                stdin=theirs.fileno(),
                stdout=self._errors,
                stderr=self._errors,
                pass_fds=(tell,) if self.level == "L2" else (),
                env=(os.environ if "environment" in self._without else {}) | surroundings.ENVIRONMENT,
                cwd="/",
                start_new_session=True,
            )
        except OSError as error:
            os.close(told)
            raise SlotLost(f"{error}") from None
        finally:
            os.close(tell)
            theirs.close()
        with os.fdopen(told, "rb") as info:
            report = info.read() if self.level == "L2" else b""
        self._pid = self._process.pid
        if self.level == "L2":
            if not report:
                raise SlotLost(f"bwrap did not start: {self._words()}")
            self._pid = json.loads(report)["child-pid"]
        self.control.settimeout(START_SECONDS)
        self.told = self._message()
        self.control.setblocking(False)
        if self._group is not None:
            self._group.take(self._pid)

    def _command(self, tell: int) -> list[str]:
        inside = "/sandbox" if self.level == "L2" else str(surroundings.INSIDE.parent)
        wide = self.wide
        settings = {
            "writable": ["/tmp"] if wide is not None and wide.files_mb else [],
            "processes": wide is not None and wide.processes > 1,
        }
        start = (
            f"import sys; sys.path.insert(0, {inside!r}); from inside import zygote; del sys.path[0]; "
            f"zygote.main({settings!r})"
        )
        python = interpreter(self.level)
        # The environment is ours alone, and -I would leave its PYTHONHASHSEED out: sets would differ from slot to slot.
        program = [python, "-P", "-s", "-S", "-B", "-X", "utf8", "-c", start]
        if self.level == "L1":
            return program
        return [*surroundings.bubblewrap(tell, python, self.wide, self._without), "--", *program]

    # --- a run ----------------------------------------------------------------------------------------------

    def begin(
        self,
        run: Execution,
        *,
        without: Sequence[str] = (),
        threads: int = 0,
        fed: int | None = None,
        processor: int = 0,
    ) -> None:
        """Starts a run. `without`: layers that are left off, so that the probe can test each other layer alone;
        `threads`: how many threads the user of the run may have, if that was settled before. `fed`: a descriptor that
        the run reads in place of its input, and `processor`: its seconds of the processor, for one that is given more
        to do by and by.
        """
        limits = run.limits
        off = {*without, *self._without}
        job = {
            "layers": [layer for layer in confine.LAYERS if layer not in off],
            "user": self.user,
            "memory_mb": limits.memory_mb,
            "seconds": processor or math.ceil(limits.seconds) + 1,
            "file_mb": limits.files_mb,
            "threads": threads or self._threads(limits),
        }
        if self._group is not None and self._memory_mb != limits.memory_mb + limits.files_mb:
            self._memory_mb = limits.memory_mb + limits.files_mb
            self._group.limit(memory_mb=self._memory_mb + SPARE_MB, processes=confine.THREADS + limits.processes + 2)
        head = json.dumps(job).encode()
        try:
            mark, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        except OSError as error:
            raise SlotLost(f"{error}") from None
        killed_before = self._group.killed() if self._group is not None else 0
        running = _Running(run, {}, mark, time.monotonic() + START_SECONDS, killed_before)
        given: list[int] = []
        try:
            mark.setblocking(False)
            given.append(_memory_file(struct.pack("!I", len(head)) + head + run.source))
            given.append(_memory_file(run.input) if fed is None else os.dup(fed))
            for stream in range(len(_STREAMS)):
                out, into = os.pipe2(os.O_CLOEXEC)
                running.read[out] = stream
                given.append(into)
                os.fchmod(into, 0)  # else the program could open its end again, by /proc, and read what it wrote
                os.set_blocking(out, False)
            socket.send_fds(self.control, [b"fork"], [*given, theirs.fileno()])
        except BaseException as error:
            running.close()
            if isinstance(error, OSError):
                raise SlotLost(f"{error} {self._words()}") from None
            raise
        finally:
            theirs.close()
            for number in given:
                os.close(number)
        self.running = running

    def _threads(self, limits: Limits) -> int:
        if self.user or self.level == "L2":
            return confine.THREADS + limits.processes + (0 if self.user else 2)
        return surroundings.threads_of_user() + 16 * confine.THREADS  # shared with all processes of this user

    def _message(self) -> dict[str, Any]:
        try:
            data, handles, _, _ = socket.recv_fds(self.control, 1 << 12, 1)
        except OSError:
            data, handles = b"", []
        if not data:
            raise SlotLost(f"the sandbox ended. {self._words()}")
        return {**json.loads(data), "handles": handles}

    @property
    def most_threads(self) -> int:
        """Threads that no program of this slot can have."""
        return self._threads(self.wide or Limits())

    @property
    def grouped(self) -> bool:
        """Whether the kernel limits the memory of everything in it together."""
        return self._group is not None

    def watched(self) -> Iterator[int]:
        """The descriptors that have something to read when the run has gone on."""
        yield self.control.fileno()
        if self.running is not None:
            yield from self.running.read
            if self.running.mark.fileno() >= 0 and self.running.handle is not None:
                yield self.running.mark.fileno()

    def serve(self, ready: Sequence[int]) -> Ran | None:
        """Reads what has arrived and keeps the limits. Returns the outcome of the run if it has ended."""
        running = self.running
        assert running is not None
        for number in ready:
            if number in running.read:
                self._take(running, number)
        if running.mark.fileno() in ready:
            self._let_go(running)
        if self.control.fileno() in ready:
            told = self._message()
            if "code" in told:
                return self._ended(running, told)
            if not told["handles"]:
                raise SlotLost("this process has no descriptor left for the process of a program.")
            (running.handle,) = told["handles"]
        if running.killed is None and time.monotonic() >= running.until:
            self._late(running)
        return None

    def _let_go(self, running: _Running) -> None:
        """Lets the program begin, if its process says that all layers are on. Its time is counted from here."""
        assert running.handle is not None
        with running.mark, contextlib.suppress(OSError):  # where it has ended, the forking process tells of it
            if running.mark.recv(1) != zygote.READY:
                return
            _offer_to_the_kernel(running.handle)
            running.starved = _starved(running.handle)
            running.mark.send(zygote.GO)
            running.began = time.monotonic()
            running.until = running.began + min(running.run.limits.seconds, SAMPLED)

    def worked(self) -> float:
        """Seconds since the program began, without those in which it was ready and given no processor."""
        running = self.running
        if running is None or running.began is None or running.handle is None:
            return 0.0
        return time.monotonic() - running.began - (_starved(running.handle) - running.starved)

    # --- a run that is given more to do by and by ----------------------------------------------------------------

    def go_on(self) -> None:
        """Lets a run that was held go on. Its time counts anew from here, and what it wrote before is forgotten."""
        running = self.running
        assert running is not None and running.handle is not None
        for data in running.data:
            data.clear()
        running.starved, running.began = _starved(running.handle), time.monotonic()
        running.until = running.began + min(running.run.limits.seconds, SAMPLED)
        self._signal(signal.SIGCONT)

    def hold(self) -> None:
        """Stops a run where it is, with all its threads, until it is to go on."""
        self._signal(signal.SIGSTOP)

    def end(self) -> None:
        """Kills a run. `serve` tells when it has ended."""
        assert self.running is not None
        self._kill(self.running, "lost")

    def written(self) -> tuple[bytes, bytes, bytes]:
        """What a run has written: its output, its errors and its reply."""
        assert self.running is not None
        output, errors, reply = map(bytes, self.running.data)
        return output, errors, reply

    def _signal(self, number: int) -> None:
        assert self.running is not None and self.running.handle is not None
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.running.handle, number)

    def _take(self, running: _Running, number: int) -> None:
        place = running.read[number]
        most = running.run.limits.output_kb << 10
        with contextlib.suppress(BlockingIOError):
            for _ in range(16):
                data = os.read(number, 1 << 16)
                if not data:
                    del running.read[number]
                    os.close(number)
                    return
                room = most - len(running.data[place])
                running.data[place].extend(data[:room])
                if len(data) > room and "deadline" not in self._without:
                    self._kill(running, "output")
                    return

    def _late(self, running: _Running) -> None:
        """Looks at the time of a run, and kills it if that is up; time in which it was given no processor is not its
        own. A run that has ended cannot be looked at any more, so this is done now and then.
        """
        limits, now = running.run.limits, time.monotonic()
        if running.began is None:
            raise SlotLost(f"the layers of the sandbox were not on after {START_SECONDS:g} s. {self._words()}")
        running.worked = self.worked()
        left = limits.seconds - running.worked
        if left > 0.005 and now - running.began < LONGEST_WAIT * limits.seconds + PATIENCE:
            running.until = now + min(left, SAMPLED)
        elif "deadline" in self._without:
            running.until = now + 3600
        else:
            self._kill(running, "time")

    def _kill(self, running: _Running, why: Status) -> None:
        running.killed = running.killed or why
        running.until = math.inf
        self._signal(signal.SIGKILL)

    def _ended(self, running: _Running, ended: dict[str, Any]) -> Ran:
        for number in list(running.read):
            if number in running.read:
                self._take(running, number)
        oom = self._group is not None and self._group.killed() > running.oom
        self._release()
        output, errors, reply = (bytes(data) for data in running.data)
        if running.began is None:
            said = errors[:300].decode(errors="replace")
            raise SlotLost(f"a layer of the sandbox could not be put on: {said or ended['code']}")
        status, code = _status(ended["code"], ended["processor"], running, oom)
        processor = ended["processor"]
        return Ran(status, code, output, errors, reply, processor, worked=max(processor, running.worked))

    def _release(self) -> None:
        if self.running is not None:
            self.running.close()
            self.running = None

    # --- its end --------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Kills everything in the sandbox and waits until it is gone."""
        self._release()
        if self._process is not None:
            if self._pid and self._process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self._pid, signal.SIGKILL)  # the first of its namespace: with it the kernel kills the rest
            try:
                self._process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self.control.close()
        self._errors.close()
        if self._group is not None:
            self._group.remove()
            self._group = None

    def _words(self) -> str:
        self._errors.seek(0)
        return self._errors.read()[-600:].decode(errors="replace").strip()


def _status(code: int, processor: float, running: _Running, oom: bool) -> tuple[Status, int]:
    if running.killed is not None:
        return running.killed, 0
    if oom or code == zygote.MEMORY:
        return "memory", 0
    if code == -signal.SIGXCPU or (code == -signal.SIGKILL and processor >= running.run.limits.seconds):
        return "time", 0
    if code == zygote.COMPILE:
        return "compile", 0
    return ("signal", -code) if code < 0 else ("exit", code)


def _process(handle: int) -> Path:
    """The folder in /proc of a process that is known by a pidfd."""
    lines = Path(f"/proc/self/fdinfo/{handle}").read_text().splitlines()
    return Path("/proc", next(line.split()[1] for line in lines if line.startswith("Pid:")))


def _offer_to_the_kernel(handle: int) -> None:
    """Makes a program the first that the kernel kills where memory runs out, before the process that forked it."""
    with contextlib.suppress(OSError):  # it may have ended already
        (_process(handle) / "oom_score_adj").write_text("1000")


def _starved(handle: int) -> float:
    """Seconds that a process was ready and given no processor: of its thread that waited longest."""
    try:
        tasks = (_process(handle) / "task").iterdir()
        return max(int((task / "schedstat").read_text().split()[1]) for task in tasks) / 1e9
    except (OSError, ValueError, IndexError, StopIteration):
        return 0.0  # a process that has just ended, or a kernel that does not count


def _memory_file(data: bytes) -> int:
    """A sealed file in memory with these bytes, which nobody can open by its name in /proc."""
    number = os.memfd_create("job", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.fchmod(number, 0)
    view = memoryview(data)
    while view:
        view = view[os.write(number, view) :]
    os.lseek(number, 0, os.SEEK_SET)
    seals = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
    fcntl.fcntl(number, fcntl.F_ADD_SEALS, seals)
    return number
