"""A sandbox: some slots of one level, which run untrusted programs beside each other."""

from __future__ import annotations

import atexit
import contextlib
import os
import select
import threading
import time
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from assay.errors import ConfigError
from assay.sandbox.limits import LONGEST_INPUT, LONGEST_PROGRAM, Chain, Execution, Level, Limits, Ran
from assay.sandbox.slot import Slot, SlotLost

LIFE = 5_000  # runs after which a slot is replaced
TRIES = 2  # of a run whose slot is lost


class Sandbox:
    """Runs untrusted Python programs. Nothing that such a program could read tells it what is expected of it.

    with Sandbox("L2") as sandbox:
        (ran,) = sandbox.map([Execution("print(int(input()) + 1)", b"41")])  # Ran("exit", 0, output=b"42\\n")

    `assay.sandbox.opened()` finds the level that this machine holds; a level is only to be used after its probe.
    """

    def __init__(self, level: Level, *, count: int = 0) -> None:
        self.level: Level = level
        self.count = count or max(1, len(os.sched_getaffinity(0)))
        self._slots: dict[Slot, int] = {}  # slots that wait or run -> number of programs that they have run
        self._lock = threading.Lock()
        self._numbers = iter(range(1 << 62))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def map(self, runs: Sequence[Execution]) -> list[Ran]:
        """The outcome of each run, in the order of the runs. Time in which a run waits for a slot does not count."""
        return [ran for (ran,) in self.follow([Chain((run,)) for run in runs])]

    def follow(self, chains: Sequence[Chain]) -> list[list[Ran]]:
        """The outcomes of the runs of each chain, up to the first after which no other run is wanted.

        If the seconds of a chain are used up before a run begins, its outcome is `time`, and it is the last run.
        """
        if self.level == "L1" and any(not run.limits.narrow for chain in chains for run in chain.runs):
            raise ConfigError(
                "programs with processes or files of their own need the sandbox level L2, and this machine holds L1. "
                "`assay doctor --externals` says why."
            )
        with self._lock:
            try:
                links = [_Link(chain, chain.seconds) for chain in chains]
                self._follow(links)
                return [link.found for link in links]
            except BaseException:
                self._drop(list(self._slots))  # else an unfinished run would be taken for the next one
                raise

    def close(self) -> None:
        with self._lock:
            self._drop(list(self._slots))
        _OPEN.discard(self)

    def _follow(self, links: Sequence[_Link]) -> None:
        waiting = [link for link in links if link.ready()][::-1]
        at: dict[Slot, _Link] = {}
        while waiting or at:
            while waiting and len(at) < self.count:
                link = waiting.pop()
                try:
                    at[self._begin(link.next())] = link
                except SlotLost as error:
                    waiting += [link] if link.lost(str(error)) else []
            for slot, ran in listen(list(at)):
                link = at.pop(slot)
                if isinstance(ran, SlotLost):
                    self._drop([slot])
                    more = link.lost(str(ran))
                else:
                    self._slots[slot] += 1
                    if slot.wide or self._slots[slot] >= LIFE:
                        self._drop([slot])  # before anybody hears of the outcome: nothing of the run is left then
                    more = link.take(ran)
                waiting += [link] if more else []

    def _begin(self, run: Execution) -> Slot:
        """A slot in which the run has begun: one that waits, or a new one."""
        free = None
        if run.limits.narrow:
            free = next((slot for slot in self._slots if slot.running is None and not slot.wide), None)
        else:
            self._drop([slot for slot in self._slots if slot.running is None][: len(self._slots) + 1 - self.count])
        for slot in (free, None):  # a slot that waited may have been lost meanwhile: no try of this run
            slot = slot or self._start(run.limits)
            try:
                slot.begin(run)
            except SlotLost:
                self._drop([slot])
                if slot is not free:
                    raise
            else:
                return slot
        raise AssertionError

    def _start(self, limits: Limits) -> Slot:
        slot = Slot(self.level, number=next(self._numbers), limits=limits)
        self._slots[slot] = 0
        _OPEN.add(self)
        return slot

    def _drop(self, slots: Sequence[Slot]) -> None:
        for slot in slots:
            slot.close()
            self._slots.pop(slot, None)


def _too_long(run: Execution) -> str | None:
    for what, size, most in (("program", len(run.source), LONGEST_PROGRAM), ("input", len(run.input), LONGEST_INPUT)):
        if size > most:
            return f"the {what} has {size} bytes, and at most {most} are run"
    return None


@dataclass(eq=False)
class _Link:
    """A chain that is being followed: the outcomes of its runs so far, and the seconds that it has left."""

    chain: Chain
    left: float
    found: list[Ran] = field(default_factory=list)
    tries: int = 0  # of the run that is next

    def next(self) -> Execution:
        """The run that is next, with no more seconds than are left."""
        run = self.chain.runs[len(self.found)]
        self.tries += 1
        if run.limits.seconds <= self.left:
            return run
        return replace(run, limits=replace(run.limits, seconds=self.left))

    def ready(self) -> bool:
        """Whether there is a run that can begin. Runs that cannot begin have their outcome afterwards."""
        while len(self.found) < len(self.chain.runs):
            if (said := _too_long(self.chain.runs[len(self.found)])) is not None:
                if not self._goes_on(Ran("size", detail=said)):
                    return False
                continue
            if self.left <= 0:
                self.found.append(Ran("time", detail=f"all of its runs together have {self.chain.seconds:g} s"))
                return False
            return True
        return False

    def take(self, ran: Ran) -> bool:
        """Takes the outcome of the run, and returns whether another run can begin."""
        limit = min(self.chain.runs[len(self.found)].limits.seconds, self.left)
        self.left -= limit if ran.status == "time" else min(ran.worked, limit)
        return self._goes_on(ran) and self.ready()

    def lost(self, said: str) -> bool:
        """The slot of the run was lost; whether it, or another one, can begin."""
        return True if self.tries < TRIES else self.take(Ran("lost", detail=said))

    def _goes_on(self, ran: Ran) -> bool:
        self.found.append(ran)
        self.tries = 0
        more = len(self.found) < len(self.chain.runs)
        return more and self.chain.goes_on(len(self.found) - 1, ran)


def listen(slots: Sequence[Slot], *, most: float = 1.0) -> list[tuple[Slot, Ran | SlotLost]]:
    """The runs that have ended; waits for something to happen or for a deadline, `most` seconds."""
    if not slots:
        return []
    poller, owners = select.poll(), {}
    for slot in slots:
        for number in slot.watched():
            poller.register(number, select.POLLIN)
            owners[number] = slot
    until = min(slot.running.until for slot in slots if slot.running is not None)
    ready: dict[Slot, list[int]] = {slot: [] for slot in slots}
    for number, _ in poller.poll(max(0.0, min(most, until - time.monotonic())) * 1e3):
        ready[owners[number]].append(number)
    ended: list[tuple[Slot, Ran | SlotLost]] = []
    for slot, numbers in ready.items():
        try:
            ran = slot.serve(numbers)
        except SlotLost as error:
            ended.append((slot, error))
        else:
            if ran is not None:
                ended.append((slot, ran))
    return ended


_OPEN: weakref.WeakSet[Sandbox] = weakref.WeakSet()


@atexit.register
def close_all() -> None:
    for sandbox in list(_OPEN):
        with contextlib.suppress(OSError):
            sandbox.close()
