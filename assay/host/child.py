"""A child process that runs a person's reward functions, and that can be killed with all processes it has started.

Parent and child exchange frames (bytes with their length) over a socket. Unlike a worker (see `workers.py`) the child
has all rights of its parent, because the code is the person's own. Whatever the child prints goes to the parent's
standard error, its standard input is empty, and the kernel kills it when its parent ends for any reason.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import weakref
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Protocol, TypeVar

from assay.errors import ConfigError
from assay.host import terminal

FAREWELL = 5.0  # seconds that a child has to end by itself before it is killed
LAST_WORDS = 0.5  # seconds that a hanging child has to report where in its code it is
REAP = 10.0  # seconds that the system has to end a process that was killed
LONGEST_LINE = 1 << 14  # bytes of a printed line; a longer line is split
MOST_HEARD = 1 << 20  # bytes of printed text that are read at a time
_HEAD = struct.Struct("!Q")
P = TypeVar("P", bound="Process")


class Line:
    """A parent's end of a process: the channel for frames both ways, and what the process prints.

    line = Line(channel, output)
    line.send(b"..."); frames = line.frames()
    """

    def __init__(self, channel: socket.socket, output: int) -> None:
        channel.setblocking(False)
        os.set_blocking(output, False)
        self.channel, self.output = channel, output
        self.ended = False  # whether the process has closed its end
        self._unsent: deque[memoryview] = deque()
        self._received, self._printed = bytearray(), b""

    @property
    def waits(self) -> bool:
        """Whether a part of a frame is not sent yet."""
        return bool(self._unsent)

    def send(self, frame: bytes) -> None:
        """Queues a frame; `listen` sends it."""
        self._unsent += (memoryview(_HEAD.pack(len(frame))), memoryview(frame))

    def write(self) -> None:
        """Sends as much as the channel takes now."""
        with contextlib.suppress(BlockingIOError, ConnectionError):  # `gone` will show if the process has ended
            while self._unsent:
                left = self._unsent[0][self.channel.send(self._unsent[0]) :]
                if left:
                    self._unsent[0] = left
                else:
                    self._unsent.popleft()

    def frames(self) -> list[bytes]:
        """The frames that have arrived from the process."""
        with contextlib.suppress(BlockingIOError):
            try:
                while data := self.channel.recv(1 << 20):
                    self._received += data
                self.ended = True
            except ConnectionError:
                self.ended = True
        frames, begin = [], 0
        while len(self._received) >= begin + _HEAD.size:
            end = begin + _HEAD.size + _HEAD.unpack_from(self._received, begin)[0]
            if len(self._received) < end:
                break
            frames.append(bytes(memoryview(self._received)[begin + _HEAD.size : end]))
            begin = end
        if begin:
            del self._received[:begin]
        return frames

    def hear(self, *, ended: bool) -> None:
        """Prints what the process has printed, whole lines only; after its end also an unfinished line."""
        data = b""
        with contextlib.suppress(BlockingIOError, ConnectionError):
            while len(data) < MOST_HEARD and (more := os.read(self.output, 1 << 16)):
                data += more
        *lines, self._printed = (self._printed + data).replace(b"\r", b"\n").split(b"\n")
        if len(self._printed) > LONGEST_LINE or ended:
            lines, self._printed = [*lines, self._printed], b""
        for line in filter(None, lines):
            terminal.tell(line.decode(errors="replace"))


class Process(Protocol):
    """A process that speaks frames with its parent, wherever it runs."""

    line: Line

    @property
    def gone(self) -> bool:
        """Whether the process has ended, or cannot be reached any more."""
        ...

    def ending(self) -> str:
        """How it ended, in words that follow its name."""
        ...

    def close(self, *, now: bool = False) -> None:
        """Lets it end by itself, or kills it at once with `now`; then kills all processes it has started."""
        ...


class Child:
    """A process whose fresh interpreter calls `program(channel, words, parent)`; see `Parent` for the other side.

    child = Child("assay.verifiers.functions.process:serve")
    child.send(b"..."); frames = listen([child], 1.0)

    `program` is written `module:function`. `words` is a file in which the child writes where it is when asked.
    """

    def __init__(self, program: str) -> None:
        ours, theirs = socket.socketpair()
        output, printed = os.pipe()
        self.words = tempfile.TemporaryFile()  # noqa: SIM115  (stack traces of a crash, or of SIGUSR1)
        try:
            self.process = spawn(program, channel=theirs.fileno(), printed=printed, words=self.words.fileno())
        except OSError as error:
            for number in (ours, self.words):
                number.close()
            os.close(output)
            raise ConfigError(f"no process can be started: {error}. Running fewer programs may help.") from None
        finally:
            theirs.close()
            os.close(printed)
        self.line = Line(ours, output)
        self._finish = weakref.finalize(self, _end, self.process, ours, output, self.words)

    def send(self, frame: bytes) -> None:
        """Queues a frame for the child; `listen` sends it."""
        self.line.send(frame)

    @property
    def gone(self) -> bool:
        """Whether the process has ended. It is reaped only by `close`, so that its process group can be killed then."""
        return _status(self.process) is not None

    @property
    def stopped(self) -> bool:
        """Whether a signal such as SIGSTOP makes the process stand still."""
        try:
            return Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[0] in ("T", "t")
        except OSError:
            return False

    def ending(self) -> str:
        """How the process ended, in words."""
        return ending_of(*(_status(self.process) or (os.CLD_EXITED, 0)))

    def place(self, path: str) -> str:
        """`, line N` for the line of file `path` that a hanging or crashed child is in; '' if that is unknown."""
        if not self.gone:
            self.process.send_signal(signal.SIGUSR1)
        end = time.monotonic() + LAST_WORDS
        while not (found := _line_of(self.words, path)) and not self.gone and time.monotonic() < end:
            time.sleep(0.01)
        return found

    def close(self, *, now: bool = False, farewell: float = FAREWELL) -> None:
        """Lets the process end by itself, or kills it at once with `now`; then kills all processes it has started."""
        if not self._finish.alive:
            return
        if not now:
            with contextlib.suppress(OSError):
                self.line.channel.shutdown(socket.SHUT_WR)
            end = time.monotonic() + farewell
            while not self.gone and time.monotonic() < end:
                listen([self], 0.05)
        self.line.hear(ended=self.gone)
        self._finish()


def spawn(program: str, *, channel: int, printed: int, words: int) -> subprocess.Popen[bytes]:
    """A fresh interpreter that runs a program at the other ends of a channel; it has a process group of its own."""
    module, _, function = program.partition(":")
    start = f"import sys; sys.path[:] = {sys.path!r}; from assay.host.stops import leave_to_parent; leave_to_parent(); "
    start += f"from {module} import {function} as program; "
    command = [sys.executable, "-u", "-c", start + f"program({channel}, {words}, {os.getpid()})"]
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=printed,
        stderr=printed,
        pass_fds=(channel, words),
        start_new_session=True,
    )


def listen(children: Sequence[P], seconds: float) -> list[tuple[P, bytes]]:
    """(child, frame) for each frame that arrived; waits up to `seconds` for the first. Also prints what they print."""
    with selectors.DefaultSelector() as selector:
        for child in children:
            if not child.gone:
                writes = selectors.EVENT_WRITE if child.line.waits else 0
                selector.register(child.line.channel, selectors.EVENT_READ | writes, child)
                selector.register(child.line.output, selectors.EVENT_READ)
        ready = selector.select(seconds) if selector.get_map() else []
    for key, mask in ready:
        if key.data is not None and mask & selectors.EVENT_WRITE:
            key.data.line.write()
    arrived = [(child, frame) for child in children for frame in child.line.frames()]
    for child in children:
        child.line.hear(ended=child.gone)
    return arrived


def ending_of(how: int, number: int) -> str:
    """The status of a process that ended (`si_code`, `si_status`), in words."""
    if how == os.CLD_EXITED:
        return f"ended its process with exit code {number}"
    with contextlib.suppress(ValueError):
        return f"was ended by {signal.Signals(number).name}"
    return f"was ended by signal {number}"


def _status(process: subprocess.Popen[bytes]) -> tuple[int, int] | None:
    """(how, exit code or signal) of a process that has ended, else None. The process is not reaped."""
    if process.returncode is not None:
        return (os.CLD_KILLED, -process.returncode) if process.returncode < 0 else (os.CLD_EXITED, process.returncode)
    status = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    return None if status is None else (status.si_code, status.si_status)


def _end(process: subprocess.Popen[bytes], channel: socket.socket, output: int, words: IO[bytes]) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):  # one that the kernel itself holds; it ends when let go
            process.wait(timeout=REAP)
    channel.close()
    os.close(output)
    words.close()


def _line_of(words: IO[bytes], path: str) -> str:
    """`, line N` of the innermost call in file `path`, from the stack trace that faulthandler wrote."""
    for line in os.pread(words.fileno(), 1 << 20, 0).decode(errors="replace").splitlines():
        head, _, rest = line.strip().partition(f'File "{path}", line ')
        if not head and " in " in rest:
            return f", line {rest.partition(' ')[0]}"
    return ""


# --- in the child -------------------------------------------------------------------------------------------


class Parent:
    """The child's side of the channel: reads frames from the parent and sends frames to it.

    parent = Parent(channel, words, parent)
    while (frame := parent.read()) is not None: parent.say(answer(frame))
    """

    def __init__(self, channel: int, words: int, parent: int, *, tied: bool = True) -> None:
        """A process that is not `tied` to its parent must end by itself when `read` gives None."""
        import faulthandler

        if tied:
            end_with(parent)
        for number in (channel, words):
            os.set_inheritable(number, False)
        faulthandler.enable(words)
        faulthandler.register(signal.SIGUSR1, words, all_threads=True)
        self._file = socket.socket(fileno=channel).makefile("rwb")

    def read(self) -> bytes | None:
        """The next frame; None when the parent has closed the channel."""
        head = self._file.read(_HEAD.size)
        return self._file.read(_HEAD.unpack(head)[0]) if len(head) == _HEAD.size else None

    def say(self, frame: bytes) -> None:
        """Sends a frame; everything printed before is flushed first, so that it arrives before the frame."""
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):  # a person's code may have closed it
                stream.flush()
        self._file.write(_HEAD.pack(len(frame)) + frame)
        self._file.flush()


def end_with(parent: int) -> None:
    """Asks the kernel to kill this process when its parent ends, even while this process hangs."""
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        sys.exit(0)
