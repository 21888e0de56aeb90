"""Plays in processes of their own: for worlds that wait for others, or may hang.

A reply that takes longer than its limit, or a process that ends, is an error of ours: the process is killed, and its
plays begin anew from their acts. Replies are written to the run's log before they are used. A run that goes on from a
checkpoint finds them there, so that a tool which would answer otherwise today changes nothing.
"""

from __future__ import annotations

import atexit
import base64
import contextlib
import functools
import itertools
import json
import math
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from assay.errors import AssayError, ConfigError, StorageError
from assay.rng import Key
from assay.tasks import BUILT_IN, FOREIGN, task
from assay.types import CONTROLS, Verdict, asked_in
from assay.worlds import Act, Reply, Spec
from assay.worlds.wire import act_data, reply_data, reply_of, verdicts_of

START_SECONDS = 120.0  # that a process has for its imports
LONGEST = 1 << 26  # bytes of an answer: a process that writes more without an end is ended
PROGRAM = "assay.collect.play_host"  # the module that a process runs


class PlayLost(AssayError):
    """A play apart has no reply to give: its process ended or took too long, or its world failed."""


Schedule = Literal["rounds", "free"]
Made = TypeVar("Made")


@dataclass
class Hosting:
    """How plays apart are run: `with hosting(Hosting(schedule="free")): ...`"""

    schedule: Schedule = "rounds"  # free: a slow reply holds its own play alone
    seconds: float = 60.0  # by the clock, that a reply may take
    count: int = 4  # processes
    folder: Path | None = None  # of the log of replies; None: none is kept
    oldest: Callable[[], int] = int  # the first step whose replies may be needed again
    step: int | None = field(default=None, init=False)  # the last one whose log was opened; plays of exams belong to it

    @functools.cached_property
    def hosts(self) -> Hosts:
        """Its processes, which are started as they are needed."""
        hosts = Hosts(self.count, seconds=self.seconds)
        atexit.register(hosts.close)
        return hosts

    def close(self) -> None:
        """Ends the processes."""
        if "hosts" in vars(self):
            self.hosts.close()
            atexit.unregister(self.hosts.close)


_USUAL = Hosting()
_HOSTING: ContextVar[Hosting] = ContextVar("hosting", default=_USUAL)


def present() -> Hosting:
    """How plays apart are run now."""
    return _HOSTING.get()


@contextlib.contextmanager
def hosting(how: Hosting) -> Iterator[None]:
    """Inside the block plays apart are run so."""
    token = _HOSTING.set(how)
    try:
        yield
    finally:
        _HOSTING.reset(token)
        how.close()


@dataclass
class _Order:
    """What a play was told to do: when its time begins, and how long it may take."""

    play: int
    begins: float
    patience: float
    heard: bool  # somebody waits for its answer


class _Wrong(Exception):
    """A process has answered what it was not asked, or what nobody can read: nothing that it says can be trusted."""


@dataclass(eq=False)
class _Host:
    process: subprocess.Popen[bytes]
    ready: float = math.inf  # when it had started
    begun: float = field(default_factory=time.monotonic)
    tickets: dict[int, _Order] = field(default_factory=dict)  # those without an answer, in the order of being given
    orders: queue.SimpleQueue[bytes | None] = field(default_factory=queue.SimpleQueue)  # still to be written to it
    why: str = ""  # it was ended for this

    def answered(self, line: bytes) -> tuple[int, Any]:
        """The ticket and what came of its order. A play answers its orders in turn, each once, in a whole line."""
        try:
            if not line.endswith(b"\n"):
                raise ValueError
            ticket, play, made = json.loads(line)
        except (ValueError, TypeError, RecursionError):
            raise _Wrong(f"its process wrote what is no answer: {line[:60]!r}") from None
        if ticket != next((mine for mine, order in self.tickets.items() if order.play == play), None):
            raise _Wrong(f"its process answered an order that does not wait for it: {line[:60]!r}")
        return ticket, made


class Hosts:
    """Processes that run plays. Closing them ends every play.

    ticket = hosts.give(play, {"do": "step", "act": ...})
    hosts.wait(ticket)
    """

    def __init__(self, count: int, *, seconds: float) -> None:
        self.count, self.seconds = count, seconds
        self._hosts: dict[int, _Host] = {}
        self._answers: dict[int, Any] = {}  # ticket -> what came, or why nothing did
        self._of: dict[int, int] = {}  # ticket -> the number of its host
        self._numbers = itertools.count()
        self._news = threading.Condition()

    def close(self) -> None:
        """Ends the processes."""
        for host in list(self._hosts.values()):
            self._end(host, "the collection is over")
        self._hosts.clear()

    def give(self, play: int, order: Mapping[str, Any], *, alone: bool = False, heard: bool = True) -> int:
        """Gives an order for a play, and returns its ticket. `alone`: in a process that no other play shares. `heard`:
        its answer is waited for, and kept until then.
        """
        number, ticket = -1 - play if alone else play % self.count, next(self._numbers)
        with self._news:
            host = self._hosts.get(number)
            if host is None or host.why or host.process.poll() is not None:
                host = self._hosts[number] = self._started()
            patience = START_SECONDS if order["do"] == "start" else self.seconds
            host.tickets[ticket] = _Order(play, time.monotonic(), patience, heard)
            if heard:
                self._of[ticket] = number
            host.orders.put(json.dumps({**order, "play": play, "ticket": ticket}).encode() + b"\n")
        return ticket

    def ready(self, ticket: int) -> bool:
        with self._news:
            return ticket in self._answers

    def wait(self, ticket: int) -> Any:
        """What came of an order; `PlayLost` if nothing did."""
        self.wait_for_any([ticket])
        with self._news:
            made = self._answers.pop(ticket)
            self._of.pop(ticket)
        if isinstance(made, PlayLost):
            raise made
        return made

    def wait_for_any(self, tickets: Sequence[int]) -> None:
        """Waits until one of these has an answer. Processes of orders that take too long are ended."""
        while True:
            with self._news:
                if any(ticket in self._answers for ticket in tickets):
                    return
                self._news.wait(timeout=max(0.01, self._patience(tickets)))
            self._give_up()

    def _patience(self, tickets: Sequence[int]) -> float:
        hosts = [self._hosts[self._of[ticket]] for ticket in tickets if self._of[ticket] in self._hosts]
        return min(1.0, min(map(self._end_of_patience, hosts), default=0.0) - time.monotonic())

    def _end_of_patience(self, host: _Host) -> float:
        """When the process has had its time for what it was given. Its start is no part of a reply's time, and neither
        is what the same play was told before.
        """
        if host.ready == math.inf:
            return host.begun + START_SECONDS
        first: dict[int, _Order] = {}
        for order in list(host.tickets.values()):
            first.setdefault(order.play, order)
        return min((max(one.begins, host.ready) + one.patience for one in first.values()), default=math.inf)

    def _give_up(self) -> None:
        for host in list(self._hosts.values()):
            if host.tickets and time.monotonic() > self._end_of_patience(host):
                started = host.ready < math.inf
                self._end(host, f"a reply took longer than {self.seconds:g} s" if started else "it did not start")

    def end(self, play: int) -> None:
        """Ends the process of a play that is alone in it."""
        if (host := self._hosts.pop(-1 - play, None)) is not None:
            self._end(host, "the play is over")

    def _started(self) -> _Host:
        environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        line = [sys.executable, "-m", PROGRAM]
        pipe = subprocess.PIPE
        host = _Host(subprocess.Popen(line, env=environment, start_new_session=True, stdin=pipe, stdout=pipe))
        for task_of_thread in (self._listen, self._tell):
            threading.Thread(target=task_of_thread, args=(host,), daemon=True).start()
        return host

    def _tell(self, host: _Host) -> None:
        """Writes orders to a process. One that does not read holds nobody who gives an order."""
        pipe = host.process.stdin
        assert pipe is not None
        with contextlib.suppress(OSError):  # the process has ended, and whoever listens to it says so
            while (order := host.orders.get()) is not None:
                pipe.write(order)
                pipe.flush()
        with contextlib.suppress(OSError):
            pipe.close()

    def _listen(self, host: _Host) -> None:
        assert host.process.stdout is not None
        try:
            if host.process.stdout.readline(LONGEST):
                host.ready = time.monotonic()
            while line := host.process.stdout.readline(LONGEST):
                with self._news:
                    self._take(host, *host.answered(line))
            why = _ending(host.process)
        except _Wrong as wrong:
            why = str(wrong)
        self._end(host, why)
        host.process.stdout.close()
        host.orders.put(None)

    def _take(self, host: _Host, ticket: int, made: Any) -> None:
        order = host.tickets.pop(ticket)
        if order.heard:
            self._answers[ticket] = made
        for later in host.tickets.values():
            later.begins = time.monotonic() if later.play == order.play else later.begins
        self._news.notify_all()

    def _lost(self, host: _Host, why: str) -> None:
        with self._news:
            host.why = host.why or why
            for ticket in (ticket for ticket, order in host.tickets.items() if order.heard):
                self._answers[ticket] = PlayLost(f"a play was lost: {host.why}")
            host.tickets.clear()
            self._news.notify_all()

    def _end(self, host: _Host, why: str) -> None:
        """Ends a process, and those that a world of its has started."""
        host.why = host.why or why
        with contextlib.suppress(ProcessLookupError):
            os.killpg(host.process.pid, signal.SIGKILL)
        host.process.wait()
        self._lost(host, why)


def _ending(process: subprocess.Popen[bytes]) -> str:
    """How a process has come to an end that answers no more."""
    try:
        return f"its process ended with {process.wait(timeout=1.0)}"
    except subprocess.TimeoutExpired:
        return "its process closed its answers"


def log_of(how: Hosting, step: int | None) -> ReplyLog:
    """The log of the replies of a step; None: of the step that was collected last, where a run that goes on finds them
    too. Logs of steps that no checkpoint goes back to are removed.
    """
    if how.folder is None:
        return ReplyLog(None)
    steps = {int(path.stem.removeprefix("step-")): path for path in how.folder.glob("step-*.jsonl")}
    if step is None:
        step = max(steps, default=0) if how.step is None else how.step
    how.step = step
    for number, path in steps.items():
        if number < how.oldest() and number != step:
            path.unlink()
    return ReplyLog(how.folder / f"step-{step:08d}.jsonl")


class ReplyLog:
    """The replies of plays apart, written before they are used: each by its play and all that was done in it so far."""

    def __init__(self, path: Path | None) -> None:
        self.path, self._known = path, dict[str, dict[str, Any]]()
        if path is not None and path.exists():
            lines = path.read_bytes().splitlines(keepends=True)
            whole = [line for line in lines if line.endswith(b"\n")]
            if whole != lines:  # a run that was killed leaves half a line, and the next one must stand by itself
                os.truncate(path, sum(map(len, whole)))
            self._known = dict(self._read(path, number, line) for number, line in enumerate(whole, 1))

    def _read(self, path: Path, number: int, line: bytes) -> tuple[str, dict[str, Any]]:
        try:
            name, data = json.loads(line)
        except ValueError as error:
            raise StorageError(
                f"line {number} of {path} is no reply of a world. Delete the file to have the world asked again, which "
                "may reply otherwise now."
            ) from error
        return name, data

    def get(self, moment: Key) -> Reply | None:
        data = self._known.get(moment.hex)
        return None if data is None else reply_of(data)

    def note(self, moment: Key, reply: Reply) -> None:
        if self.path is None or reply.fault:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.write(json.dumps([moment.hex, reply_data(reply)]) + "\n")


@functools.cache
def place_of(name: str) -> tuple[str, str]:
    """The module that another process imports to have a task, and its name there; empty for a task of Assay. A control
    is made there of the task that it controls.
    """
    if name.startswith(CONTROLS):
        return place_of(asked_in(name))
    wanted = task(name)
    if name in BUILT_IN or name.startswith(FOREIGN):
        return "", ""
    for module, contents in list(sys.modules.items()):
        for attribute, value in list(vars(contents).items()) if not module.startswith("__") else ():
            if value is wanted:
                return module, attribute
    raise ConfigError(
        f"the world of '{name}' runs in processes of its own, and the task stands in no module that they could import: "
        "put it into a file of its own, as a name of this file."
    )


class HostedPlay:
    """A play in another process. What the log knows of it is not asked again until something new is wanted.

    It begins behind these acts: from what was saved there, or else by taking them again.
    """

    _numbers = itertools.count()

    def __init__(
        self,
        hosts: Hosts,
        log: ReplyLog,
        name: str,
        spec: Spec,
        key: Key,
        acts: Sequence[Act] = (),
        saved: bytes | None = None,
        *,
        alone: bool = False,
    ) -> None:
        self.hosts, self.log, self.key, self.alone = hosts, log, key, alone
        held = None if saved is None else base64.b64encode(saved).decode()
        world = task(name).world
        told = {"tools": (), "servers": (), "door": ""}
        if world is not None:
            told = {"tools": world.made_of, "servers": world.servers, "door": world.door}
        self.order = {"do": "start", "task": name, "spec": dict(spec), "key": key.hex, "saved": held}
        self.order |= {**told, "seconds": hosts.seconds, "at": ("", "") if any(told.values()) else place_of(name)}
        self.number = next(self._numbers)
        self.acts = list(acts)
        self.begins = len(acts) if saved is not None else 0
        self._opening: int | None = None  # the ticket of its beginning, where that was ordered ahead
        self.reached = -1  # how many acts the process has taken; -1: the play is not begun there

    def ahead(self) -> None:
        """Begins it, while nobody waits yet for what it wants first: other plays begin beside it."""
        if self.log.get(self._moment()) is None:
            self._opening = self._begun()

    def open(self) -> Reply:
        if (reply := self.log.get(self._moment())) is None:
            reply = self._answer(self._begun() if self._opening is None else self._opening, reply_of)
            self.log.note(self._moment(), reply)
        return reply

    def step(self, act: Act) -> Reply:
        return self.take(self.submit(act))

    def submit(self, act: Act) -> int | None:
        """Gives the act to the process, and returns its ticket; None if the log has the reply."""
        self.acts.append(act)
        return None if self.log.get(self._moment()) is not None else self._given()

    def take(self, ticket: int | None) -> Reply:
        """The reply to the last act."""
        if ticket is None:
            reply = self.log.get(self._moment())
            assert reply is not None
            return reply
        reply = self._answer(ticket, reply_of)
        self.log.note(self._moment(), reply)
        return reply

    def judge(self) -> Mapping[str, Verdict]:
        self._caught_up()
        return self._answer(self._give({"do": "judge"}), verdicts_of)

    def save(self) -> bytes | None:
        self._caught_up()
        return self._answer(self._give({"do": "save"}), lambda made: None if made is None else base64.b64decode(made))

    def close(self) -> None:
        if self.reached >= 0:
            self.reached = -1
            self._give({"do": "close"}, heard=False)
        if self.alone:
            self.hosts.end(self.number)

    def _moment(self) -> Key:
        """The name of this moment in the log: the play, and all that was done in it."""
        moment = self.key("moment")
        for act in self.acts:
            moment = moment(act.seat, act.text)
        return moment

    def _begun(self, *, heard: bool = True) -> int:
        self.reached = self.begins
        return self._give(self.order, heard=heard)

    def _give(self, order: Mapping[str, Any], *, heard: bool = True) -> int:
        return self.hosts.give(self.number, order, alone=self.alone, heard=heard)

    def _caught_up(self, *, but: int = 0) -> None:
        """Gives the process the acts that it has not taken, `but` the last ones. Nobody waits for these replies."""
        if self.reached < 0:
            self._begun(heard=False)
        until = len(self.acts) - but
        for act in self.acts[self.reached : until]:
            self._give({"do": "step", "act": act_data(act)}, heard=False)
        self.reached = max(self.reached, until)

    def _given(self) -> int:
        """Gives the process the acts that it has not taken; the ticket of the last one."""
        self._caught_up(but=1)
        self.reached = len(self.acts)
        return self._give({"do": "step", "act": act_data(self.acts[-1])})

    def _answer(self, ticket: int, read: Callable[[Any], Made]) -> Made:
        made = self.hosts.wait(ticket)
        if isinstance(made, Mapping) and "error" in made:
            raise PlayLost(str(made["error"]))
        try:
            return read(made)
        except (TypeError, ValueError, KeyError, AttributeError):
            raise PlayLost(f"its process answered what is none: {made!r:.60}") from None
