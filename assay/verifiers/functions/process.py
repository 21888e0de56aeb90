"""Reward functions that have a file run in a child process, which can be killed whatever it is doing.

All functions of one file or module share a process, and so the file's global state. The parent sends the names of the
functions to call and their columns. The child replies in JSON: numbers, None, or a fault. The parent keeps the time
limit.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from assay.errors import AssayError, ConfigError, DataError, Stopped
from assay.host import interrupt
from assay.host.child import Child, Parent, listen
from assay.verifiers.functions.calling import IDS, STATE, Asks, Desk, Fault, Reply, TrainerState, asks_of, file_of
from assay.verifiers.functions.naming import RewardName, find, source_digest

SECONDS = 300.0  # the time limit of a call
STILL = 60.0  # seconds that a stopped process may stand still
LONGEST = 1e6  # the longest time limit that may be set: eleven days
STOP_GRACE = 5.0  # seconds that a call still has when the run is asked to stop
TURN = 0.2  # seconds between two looks at the clock
PROGRAM = "assay.verifiers.functions.process:serve"


def check_timeout(seconds: float) -> None:
    if not 0 < seconds <= LONGEST:
        raise ConfigError(
            f"--reward-timeout is how many seconds a call of a reward function may take: more than 0 and at most "
            f"{LONGEST:g}, not {seconds:g}."
        )


@dataclasses.dataclass(frozen=True)
class Loaded:
    """The facts that a child process reports about a function that it has loaded."""

    asks: Asks  # the arguments that it asks for
    digest: str  # of its source file
    file: str  # the path of that file


class FunctionProcess:
    """The child process of one file of reward functions. If it had to be killed, the next call starts another.

    Example:
        process = FunctionProcess("rewards.py", {"accuracy": "accuracy"})
        process.give(["accuracy"], columns, count=8)
        dict(answers([process], seconds=60.0))  # {"accuracy": Reply(values=[...])}
    """

    def __init__(
        self, place: str, functions: Mapping[str, str], *, seconds: float = SECONDS, still: float = STILL
    ) -> None:
        """`functions` maps our name of a function to its name in the file. `seconds` limits the import. A process that
        somebody stops is given up after `still` seconds.
        """
        self.place, self.functions, self.seconds, self.still = place, dict(functions), seconds, still
        self._stopped: float | None = None  # since when it stands still
        self._hurt = False  # whether it was killed or stopped while it imported the file
        self.child: Child | None = None
        self.files: dict[str, str] = {}
        self.working: tuple[str, ...] = ()  # the functions that are at work
        self.since = 0.0  # when they began, by time.monotonic

    def load(self) -> dict[str, Loaded]:
        """Starts the process, which imports the file. An error of the import is raised here. A process that is killed
        or stopped meanwhile is started once more, because that says nothing of the file.
        """
        try:
            return self._imported()
        except ConfigError:
            if not self._hurt:
                raise
        return self._imported()

    def _imported(self) -> dict[str, Loaded]:
        self._hurt = False
        child = self.child = Child(PROGRAM)
        child.send(json.dumps([self.place, self.functions]).encode())
        since = time.monotonic()
        try:
            while time.monotonic() - since < self.seconds:
                interrupt.ask()
                gone = child.gone  # asked before listening, so that the child's last words are still heard
                for _, frame in listen([child], TURN):
                    loaded = _loaded(json.loads(frame))
                    self.files = {name: function.file for name, function in loaded.items()}
                    return loaded
                if gone:
                    self._hurt = signal.SIGKILL.name in child.ending()
                    raise ConfigError(
                        f"{self.place}{child.place(self.place)}: it {child.ending()} while it was imported. A file of "
                        "reward functions only defines them."
                    )
                if self._stands():
                    self._hurt = True
                    raise ConfigError(f"{self.place}: its process {self._still} while it was imported.")
            raise ConfigError(
                f"{self.place}{child.place(self.place)}: importing it took more than {self.seconds:g} s. A file of "
                "reward functions only defines them; give it longer with --reward-timeout."
            )
        except BaseException:
            self.drop()
            raise

    def give(self, names: Sequence[str], columns: Mapping[str, Any], count: int) -> None:
        """Sends a call of these functions for `count` answers. `answers` receives their replies."""
        if self.child is None:
            self.load()
        assert self.child is not None
        try:
            frame = _packed(names, columns, count)
        except Exception as error:  # a task's column may hold an object that is no JSON data
            raise DataError(
                f"the columns of these problems cannot be given to {self.place}: {type(error).__name__}: {error}. "
                "Give the function from Python, as assay.train(reward=...)."
            ) from None
        self.child.send(frame)
        self.working, self.since = tuple(names), time.monotonic()

    def drop(self) -> None:
        """Kills the process. The next call starts a new one."""
        if self.child is not None:
            self.child.close(now=True)
        self.child, self.working, self._stopped = None, (), None

    def close(self) -> None:
        """Lets the process end by itself, unless a function is at work."""
        if self.child is not None:
            self.child.close(now=bool(self.working))
        self.child, self.working = None, ()

    def heard(self, message: dict[str, Any]) -> tuple[str, Reply] | None:
        """Takes a message of the child. A reply is returned; a message about the functions at work is noted."""
        if "working" in message:
            self.working, self.since = tuple(message["working"]), time.monotonic()
            return None
        if "finished" in message:
            self.working = ()
            return None
        reply = Reply.from_data(message["reply"])
        if reply.fault is not None:
            self.working = ()
        return message["name"], reply

    def trouble(self, seconds: float, *, gone: bool) -> tuple[str, Reply] | None:
        """The fault of a process that has ended, or whose call is late. Such a
        process is killed. None if all is well.
        """
        assert self.child is not None
        spent, stands = time.monotonic() - self.since, self._stands()
        if not gone and not stands and spent < seconds:
            return None
        name, *others = self.working
        late = self._still if stands else f"did not return within {seconds:g} s"
        line = "" if stands else self.child.place(self.files.get(name, ""))
        fault = Fault("ended" if gone or stands else "late", self.child.ending() if gone else late, line)
        self.drop()
        return name, Reply(fault=dataclasses.replace(fault, beside=tuple(others)), seconds=spent)

    def _stands(self) -> bool:
        """Whether the process has stood still for too long."""
        if self.child is None or not self.child.stopped:
            self._stopped = None
            return False
        self._stopped = self._stopped or time.monotonic()
        return time.monotonic() - self._stopped >= self.still

    @property
    def _still(self) -> str:
        return f"stood still, stopped by a signal, for {self.still:g} s (machine.deadline)"


def answers(processes: Sequence[FunctionProcess], seconds: float) -> Iterator[tuple[str, Reply]]:
    """The replies of the functions that were called, as they come. All processes work at the same time.

    If somebody asks for a stop, calls have a few more seconds to end before Stopped is raised.
    """
    stop: float | None = None
    try:
        while busy := [process for process in processes if process.working]:
            children = {id(process.child): process for process in busy}
            gone = [process for process in busy if process.child is not None and process.child.gone]
            for child, frame in listen([p.child for p in busy if p.child is not None], TURN):
                reply = children[id(child)].heard(json.loads(frame))
                if reply is not None:
                    yield reply
            for process in busy:
                if process.working and (fault := process.trouble(seconds, gone=process in gone)):
                    yield fault
            try:
                interrupt.ask()
            except Stopped:
                stop = stop or time.monotonic()
                if time.monotonic() - stop > STOP_GRACE:
                    raise
    finally:
        for process in processes:
            if process.working:  # otherwise its late reply would be taken for the reply to the next call
                process.drop()


def _loaded(message: dict[str, Any]) -> dict[str, Loaded]:
    if "refused" in message:
        kind = DataError if message["refused"] == "DataError" else ConfigError
        raise kind(message["message"])
    return {
        name: Loaded(Asks.from_data(data["asks"]), data["digest"], data["file"])
        for name, data in message["loaded"].items()
    }


# --- the messages to the child --------------------------------------------------------------------------------
#
# A message is JSON, a line end, and the token ids of all answers as 32-bit integers, which are most of the bytes.


def _packed(names: Sequence[str], columns: Mapping[str, Any], count: int) -> bytes:
    ids = columns.get(IDS)
    plain = {name: value for name, value in columns.items() if name not in (IDS, STATE)}
    question = {"names": list(names), "count": count, "columns": plain}
    if STATE in columns:
        question["state"] = dataclasses.asdict(columns[STATE])
    if ids is not None:
        question["lengths"] = [len(row) for row in ids]
    return json.dumps(question).encode() + b"\n" + b"".join(row.astype("<i4").tobytes() for row in ids or ())


def _halves(frame: bytes) -> tuple[bytes, bytes]:
    question, _, ids = frame.partition(b"\n")
    return question, ids


def _columns(question: bytes, ids: bytes) -> dict[str, Any]:
    known = json.loads(question)
    columns = known["columns"]
    if "state" in known:
        columns[STATE] = TrainerState(**known["state"])
    if "lengths" in known:
        ends = np.cumsum(known["lengths"])
        columns[IDS] = np.split(np.frombuffer(ids, "<i4"), ends[:-1])
    return columns


# --- in the process -----------------------------------------------------------------------------------------


def serve(channel: int, words: int, parent: int) -> None:
    """The child's program: loads the functions, and calls them until the parent sends no more messages."""
    speaker = Parent(channel, words, parent)

    def say(**message: Any) -> None:
        speaker.say(json.dumps(message).encode())

    source, functions = json.loads(speaker.read() or b"[]")
    try:
        calls = {name: find(RewardName(source, function)) for name, function in functions.items()}
    except AssayError as error:
        say(refused=type(error).__name__, message=str(error))
        sys.exit(1)
    files = {name: file_of(call) for name, call in calls.items()}
    asks = {name: asks_of(call) for name, call in calls.items()}
    wishes = {name: RewardName(source, function) for name, function in functions.items()}
    loaded = {name: Loaded(asks[name], source_digest(wishes[name], call), files[name]) for name, call in calls.items()}
    say(loaded={name: dataclasses.asdict(facts) for name, facts in loaded.items()})

    @contextlib.contextmanager
    def watch(names: Sequence[str]) -> Iterator[None]:
        say(working=list(names))
        yield

    desk = Desk(calls, files, watch)
    while (frame := speaker.read()) is not None:
        question, ids = _halves(frame)
        request, whole = json.loads(question), True
        for name, reply in desk.ask(
            request["names"], lambda name, q=question, i=ids: asks[name].of(_columns(q, i)), request["count"]
        ):
            say(name=name, reply=dataclasses.asdict(reply))
            whole &= reply.fault is None
        if whole:  # after a fault the parent expects no further message
            say(finished=True)
    desk.close()
