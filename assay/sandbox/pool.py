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
from typing import Self

from assay.errors import ConfigError
from assay.sandbox.limits import LONGEST_INPUT, LONGEST_PROGRAM, Level, Limits, Ran, Run
from assay.sandbox.slot import Slot, SlotLost

LIFE = 5_000  # runs after which a slot is replaced
TRIES = 2  # of a run whose slot is lost


class Sandbox:
    """Runs untrusted Python programs. Nothing that such a program could read tells it what is expected of it.

    with Sandbox("L2") as sandbox:
        (ran,) = sandbox.map([Run("print(int(input()) + 1)", b"41")])  # Ran("exit", 0, output=b"42\\n")

    `assay.sandbox.opened()` finds the level that this machine holds; a level is only to be used after its probe.
    """

    def __init__(self, level: Level, *, count: int = 0) -> None:
        self.level: Level = level
        self.count = count or max(1, len(os.sched_getaffinity(0)))
        self._slots: dict[Slot, int] = {}  # those that wait or run, with how many programs they have run
        self._lock = threading.Lock()
        self._numbers = iter(range(1 << 62))
        _OPEN.add(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def map(self, runs: Sequence[Run]) -> list[Ran]:
        """What came of each run, in the order of the runs. Time in which a run waits for a slot is not its own."""
        if self.level == "L1" and any(not run.limits.narrow for run in runs):
            raise ConfigError(
                "programs with processes or files of their own need the sandbox level L2, and this machine holds L1. "
                "`assay doctor --externals` says why."
            )
        with self._lock:
            try:
                return self._map(runs)
            except BaseException:
                self._drop(list(self._slots))  # else an unfinished run would be taken for the next one
                raise

    def close(self) -> None:
        with self._lock:
            self._drop(list(self._slots))
        _OPEN.discard(self)

    def _map(self, runs: Sequence[Run]) -> list[Ran]:
        found: dict[int, Ran] = {}
        for index, run in enumerate(runs):
            if (said := _too_long(run)) is not None:
                found[index] = Ran("size", detail=said)
        waiting = [index for index in range(len(runs)) if index not in found][::-1]
        tries = [0] * len(runs)
        at: dict[Slot, int] = {}
        while len(found) < len(runs):
            while waiting and len(at) < self.count:
                index = waiting.pop()
                tries[index] += 1
                try:
                    at[self._begin(runs[index])] = index
                except SlotLost as error:
                    _lost(index, str(error), tries, waiting, found)
            for slot, ran in listen(list(at)):
                index = at.pop(slot)
                if isinstance(ran, SlotLost):
                    self._drop([slot])
                    _lost(index, str(ran), tries, waiting, found)
                else:
                    self._slots[slot] += 1
                    if slot.wide or self._slots[slot] >= LIFE:
                        self._drop([slot])  # before anybody hears of the outcome: nothing of the run is left then
                    found[index] = ran
        return [found[index] for index in range(len(runs))]

    def _begin(self, run: Run) -> Slot:
        """A slot in which the run has begun: one that waits, or a new one."""
        free = None
        if run.limits.narrow:
            free = next((slot for slot in self._slots if slot.running is None and not slot.wide), None)
        else:
            self._drop([slot for slot in self._slots if slot.running is None][: len(self._slots) + 1 - self.count])
        for slot in (free, None):  # one that waited may have been lost meanwhile, which is no try of this run
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
        return slot

    def _drop(self, slots: Sequence[Slot]) -> None:
        for slot in slots:
            slot.close()
            self._slots.pop(slot, None)


def _too_long(run: Run) -> str | None:
    for what, size, most in (("program", len(run.source), LONGEST_PROGRAM), ("input", len(run.input), LONGEST_INPUT)):
        if size > most:
            return f"the {what} has {size} bytes, and at most {most} are run"
    return None


def _lost(index: int, said: str, tries: Sequence[int], waiting: list[int], found: dict[int, Ran]) -> None:
    if tries[index] < TRIES:
        waiting.append(index)
    else:
        found[index] = Ran("lost", detail=said)


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
    found: list[tuple[Slot, Ran | SlotLost]] = []
    for slot, numbers in ready.items():
        try:
            ran = slot.serve(numbers)
        except SlotLost as error:
            found.append((slot, error))
        else:
            if ran is not None:
                found.append((slot, ran))
    return found


_OPEN: weakref.WeakSet[Sandbox] = weakref.WeakSet()


@atexit.register
def close_all() -> None:
    for sandbox in list(_OPEN):
        with contextlib.suppress(OSError):
            sandbox.close()
