"""Sessions of Python: one cell after another in one process of the sandbox, which keeps what they leave behind.

A few sessions of this process are alive at a time. One that others have pushed aside begins anew when it is asked
again, and takes its cells once more. Between two cells a session is stopped, with all its threads.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import struct
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from assay.sandbox.inside import session as inside
from assay.sandbox.levels import chosen
from assay.sandbox.limits import Execution, Limits, Ran
from assay.sandbox.pool import listen
from assay.sandbox.slot import Slot, SlotLost

ALIVE = 12  # sessions of a process at a time; a slot of the sandbox takes some 15 MB
PROCESSOR = 600  # seconds of the processor for all cells of a session
LIMITS = Limits(seconds=5.0, memory_mb=256, output_kb=256)
_FIRST = 32  # of the numbers of users; slots of a `Sandbox` beside it begin at 0

SessionEnd = Literal["", "time", "memory", "output", "left"]


@dataclass(frozen=True)
class CellOutcome:
    """What a cell came to: `CellOutcome("42\\n")`."""

    output: str  # what it printed
    error: str = ""  # the last line of its error
    ended: SessionEnd = (
        ""  # the session ended with it: at a limit, or because the cell left it; the next one begins anew
    )


@dataclass(eq=False)
class Session:
    """A session. Its limits are those of each cell.

    with Session() as session:
        session.ask("x = 2 ** 10")
        session.ask("x + 1").output  # "1025\\n"
    """

    limits: Limits = LIMITS
    cells: list[str] = field(default_factory=list)  # that make its state what it is
    live: _Live | None = None

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, cell: str) -> CellOutcome:
        """Runs a cell. `SlotLost` is an error of ours, and says nothing about the cell."""
        with _ROOM.of(self):
            if self.live is None:
                self.live = self._begun()
            said = self._told(self.live, cell)
        if said.ended:
            self.cells.clear()
        else:
            self.cells.append(cell)
        return said

    def close(self) -> None:
        """Ends it. It may be closed twice."""
        _ROOM.leave(self)
        self.cells.clear()

    def put_aside(self) -> None:
        """Ends its process. It begins anew, with its cells, when it is asked again."""
        if self.live is not None:
            self.live.end()
            self.live = None

    def _begun(self) -> _Live:
        live = _Live(_ROOM.slot(), self.limits)
        for cell in self.cells:
            if (said := self._told(live, cell)).ended:
                raise SlotLost(f"a session took its cells again, and one that had ended well came to {said.ended}.")
        return live

    def _told(self, live: _Live, cell: str) -> CellOutcome:
        try:
            said = live.ask(cell)
        except BaseException:
            live.lose()
            self.live = None
            raise
        if said.ended:
            self.live = None
        return said


class _Live:
    """A process of a session, in a slot of its own."""

    def __init__(self, slot: Slot, limits: Limits) -> None:
        self.slot, self.limits, self.number = slot, limits, 0
        cells, self._into = os.pipe()
        os.set_blocking(self._into, False)
        try:
            slot.begin(Execution(inside.source(), limits=limits), fed=cells, processor=PROCESSOR)
            while slot.running is not None and slot.running.began is None:
                self._listen()
            slot.hold()
        except BaseException:
            self.lose()
            raise
        finally:
            os.close(cells)

    def ask(self, cell: str) -> CellOutcome:
        self.number += 1
        data = cell.encode(errors="replace")
        rest = memoryview(struct.pack("!I", len(data)) + data)
        self.slot.go_on()
        while True:
            rest = self._written(rest)
            if (ran := self._listen(wait=not rest)) is not None:
                self._shut()
                _ROOM.free(self.slot)
                return _ending(ran)
            output, errors, reply = self.slot.written()
            if reply.endswith(b"\n") and not rest:
                break
        self.slot.hold()
        error = _error_of(reply, self.number)
        if error is None:
            self.end()
            return CellOutcome(_text(output, errors), "the session's own channel was written to", "left")
        return CellOutcome(_text(output, errors), error)

    def _written(self, rest: memoryview) -> memoryview:
        """What is left of a cell to be written. A process that has closed its input never reads the rest."""
        try:
            return rest[os.write(self._into, rest) :] if rest else rest
        except BlockingIOError:
            select.select([], [self._into], [], 0.05)
            return rest
        except BrokenPipeError:
            self.slot.end()
            return rest[:0]

    def _listen(self, *, wait: bool = True) -> Ran | None:
        for _, ran in listen([self.slot], most=1.0 if wait else 0.0):
            if isinstance(ran, SlotLost):
                raise ran
            return ran
        return None

    def end(self) -> None:
        """Ends the process, and gives its slot back."""
        try:
            self.slot.end()
            while self._listen() is None:
                pass
        except SlotLost:
            self.lose()
            return
        self._shut()
        _ROOM.free(self.slot)

    def lose(self) -> None:
        """Gives the slot up, in whatever state it is."""
        self._shut()
        _ROOM.lose(self.slot)

    def _shut(self) -> None:
        into, self._into = self._into, -1
        if into >= 0:
            os.close(into)


def _error_of(reply: bytes, number: int) -> str | None:
    """The error that the program of a session reports of a cell; None if the cell has written something else."""
    try:
        told = json.loads(reply)
        return told["error"] if told["cell"] == number and isinstance(told["error"], str) else None
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def _ending(ran: Ran) -> CellOutcome:
    """What a cell came to with which the session ended."""
    ended: SessionEnd = "left"
    if ran.status in ("time", "memory", "output"):
        ended = ran.status  # type: ignore[assignment]
    why = {
        "time": "it took too long",
        "memory": "it took too much memory",
        "output": "it printed too much",
        "left": "it ended the program",
    }
    return CellOutcome(_text(ran.output, ran.errors), why[ended], ended)


def _text(output: bytes, errors: bytes) -> str:
    return (output + errors).decode("utf-8", "replace")


class _Room:
    """The sessions of this process that are alive, and slots that wait for one."""

    def __init__(self) -> None:
        self._news = threading.Condition()
        self._alive: dict[Session, bool] = {}  # whether it is being asked; the one that was asked last stands last
        self._free: list[Slot] = []
        self._number = 0

    @contextlib.contextmanager
    def of(self, session: Session) -> Iterator[None]:
        """Room for a session while it is asked. Another one is put aside if there is none."""
        with self._news:
            while session not in self._alive and len(self._alive) >= ALIVE and not self._aside():
                self._news.wait()
            self._alive.pop(session, None)
            self._alive[session] = True
        try:
            yield
        finally:
            with self._news:
                self._alive[session] = False
                if session.live is None:
                    del self._alive[session]
                self._news.notify()

    def _aside(self) -> bool:
        """Puts the session aside that was not asked for longest; False if all are being asked."""
        for other, asked in self._alive.items():
            if not asked:
                del self._alive[other]
                other.put_aside()
                return True
        return False

    def leave(self, session: Session) -> None:
        with self._news:
            if self._alive.pop(session, None) is not None:
                self._news.notify()
            session.put_aside()

    def slot(self) -> Slot:
        """A slot without a session. `ConfigError` where this machine holds no level of the sandbox."""
        level = chosen().level
        with self._news:
            if self._free:
                return self._free.pop()
            self._number += 1
            number = _FIRST + self._number % _FIRST
        return Slot(level, number=number)

    def free(self, slot: Slot) -> None:
        with self._news:
            self._free.append(slot)

    def lose(self, slot: Slot) -> None:
        slot.close()

    def close(self) -> None:
        """Ends all sessions."""
        with self._news:
            sessions: Sequence[Session] = list(self._alive)
            self._alive.clear()
        for session in sessions:
            session.put_aside()
        while self._free:
            self._free.pop().close()


_ROOM = _Room()
close_all = atexit.register(_ROOM.close)
