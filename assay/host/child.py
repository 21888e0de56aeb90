"""A process that runs a person's code for us: spoken to in frames, heard on standard error, killed with all it started.

Unlike a worker it has all rights of its parent (environment, memory, network), for the code is the person's own. What
it prints never reaches our standard output, its input is empty, and it ends when its parent does, however that ends.
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
from collections.abc import Sequence
from typing import IO

from assay.errors import ConfigError
from assay.host import terminal

FAREWELL = 5.0  # seconds that a child has to end by itself
LAST_WORDS = 0.5  # seconds in which one that hangs says where
LONGEST_LINE = 1 << 14  # of what it prints; beyond, a line is cut in two
MOST_HEARD = 1 << 20  # bytes of it at a time
_HEAD = struct.Struct("!Q")


class Child:
    """`program` is called in a fresh interpreter as `program(channel, words, parent)`, `module:function`."""

    def __init__(self, program: str) -> None:
        module, _, function = program.partition(":")
        ours, theirs = socket.socketpair()
        output, printed = os.pipe()
        self.words = tempfile.TemporaryFile()  # noqa: SIM115  (where it was when it crashed, or was asked)
        given = (theirs.fileno(), self.words.fileno())
        start = f"import sys; sys.path[:] = {sys.path!r}; from {module} import {function} as program; "
        command = [sys.executable, "-u", "-c", start + f"program({given[0]}, {given[1]}, {os.getpid()})"]
        try:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=printed,
                pass_fds=given,
                start_new_session=True,
            )
        except OSError as error:
            for number in (ours, self.words):
                number.close()
            os.close(output)
            raise ConfigError(f"no process can be started: {error}. Fewer programs at a time may help.") from None
        finally:
            theirs.close()
            os.close(printed)
        ours.setblocking(False)
        os.set_blocking(output, False)
        self._channel, self._output = ours, output
        self._unsent = self._received = self._line = b""
        self._finish = weakref.finalize(self, _end, self.process, ours, output, self.words)

    def send(self, frame: bytes) -> None:
        """It leaves while the child is listened to."""
        self._unsent += _HEAD.pack(len(frame)) + frame

    @property
    def gone(self) -> bool:
        """Whether it has ended. It keeps its number until it is closed, so that its group can be killed."""
        return _status(self.process) is not None

    def ending(self) -> str:
        """How it ended, in words."""
        how, number = _status(self.process) or (os.CLD_EXITED, 0)
        if how == os.CLD_EXITED:
            return f"ended its process with exit code {number}"
        with contextlib.suppress(ValueError):
            return f"was ended by {signal.Signals(number).name}"
        return f"was ended by signal {number}"

    def place(self, path: str) -> str:
        """`, line N` of a file, where it is at work; asked of a child that hangs or has crashed."""
        if not self.gone:
            self.process.send_signal(signal.SIGUSR1)
        end = time.monotonic() + LAST_WORDS
        while not (found := _line_of(self.words, path)) and not self.gone and time.monotonic() < end:
            time.sleep(0.01)
        return found

    def close(self, *, now: bool = False) -> None:
        """Lets it end, or kills it at once; with it what it started."""
        if not self._finish.alive:
            return
        if not now:
            with contextlib.suppress(OSError):
                self._channel.shutdown(socket.SHUT_WR)
            end = time.monotonic() + FAREWELL
            while not self.gone and time.monotonic() < end:
                listen([self], 0.05)
        self._hear()
        self._finish()

    def _frames(self) -> list[bytes]:
        """What it sent by now."""
        with contextlib.suppress(BlockingIOError, ConnectionError):
            while data := self._channel.recv(1 << 16):
                self._received += data
        frames = []
        while len(self._received) >= _HEAD.size:
            end = _HEAD.size + _HEAD.unpack_from(self._received)[0]
            if len(self._received) < end:
                break
            frames.append(self._received[_HEAD.size : end])
            self._received = self._received[end:]
        return frames

    def _write(self) -> None:
        with contextlib.suppress(BlockingIOError, ConnectionError):  # one that is gone is noticed by its end
            self._unsent = self._unsent[self._channel.send(self._unsent) :]

    def _hear(self) -> None:
        """Passes on what it printed, by whole lines, and the rest when it has ended."""
        data, ended = b"", self.gone
        with contextlib.suppress(BlockingIOError):
            while len(data) < MOST_HEARD and (more := os.read(self._output, 1 << 16)):
                data += more
        *lines, self._line = (self._line + data).replace(b"\r", b"\n").split(b"\n")
        if len(self._line) > LONGEST_LINE or ended:
            lines, self._line = [*lines, self._line], b""
        for line in filter(None, lines):
            terminal.tell(line.decode(errors="replace"))


def listen(children: Sequence[Child], seconds: float) -> list[tuple[Child, bytes]]:
    """Frames that children sent, in the order of each; waits for the first so long. What they print is passed on."""
    with selectors.DefaultSelector() as selector:
        for child in children:
            if not child.gone:
                writes = selectors.EVENT_WRITE if child._unsent else 0
                selector.register(child._channel, selectors.EVENT_READ | writes, child)
                selector.register(child._output, selectors.EVENT_READ)
        ready = selector.select(seconds) if selector.get_map() else []
    for key, mask in ready:
        if key.data is not None and mask & selectors.EVENT_WRITE:
            key.data._write()
    found = [(child, frame) for child in children for frame in child._frames()]
    for child in children:
        child._hear()
    return found


def _status(process: subprocess.Popen[bytes]) -> tuple[int, int] | None:
    """(how, exit code or signal) of a process that has ended. It is not buried by that."""
    if process.returncode is not None:
        return (os.CLD_KILLED, -process.returncode) if process.returncode < 0 else (os.CLD_EXITED, process.returncode)
    found = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    return None if found is None else (found.si_code, found.si_status)


def _end(process: subprocess.Popen[bytes], channel: socket.socket, output: int, words: IO[bytes]) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    channel.close()
    os.close(output)
    words.close()


def _line_of(words: IO[bytes], path: str) -> str:
    """Of the innermost call in a file, as faulthandler wrote it."""
    for line in os.pread(words.fileno(), 1 << 20, 0).decode(errors="replace").splitlines():
        head, _, rest = line.strip().partition(f'File "{path}", line ')
        if not head and " in " in rest:
            return f", line {rest.partition(' ')[0]}"
    return ""


# --- in the child -------------------------------------------------------------------------------------------


class Parent:
    """What a child says its frames to, and reads them from."""

    def __init__(self, channel: int, words: int, parent: int) -> None:
        import faulthandler

        _end_with(parent)
        for number in (channel, words):
            os.set_inheritable(number, False)
        faulthandler.enable(words)
        faulthandler.register(signal.SIGUSR1, words, all_threads=True)
        self._file = socket.socket(fileno=channel).makefile("rwb")

    def read(self) -> bytes | None:
        """The next frame; None when the parent has nothing more to say."""
        head = self._file.read(_HEAD.size)
        return self._file.read(_HEAD.unpack(head)[0]) if len(head) == _HEAD.size else None

    def say(self, frame: bytes) -> None:
        """Behind all that was printed."""
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):  # a person's code may have closed it
                stream.flush()
        self._file.write(_HEAD.pack(len(frame)) + frame)
        self._file.flush()


def _end_with(parent: int) -> None:
    """Has the kernel kill this process when its parent ends, even while it hangs."""
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        sys.exit(0)
