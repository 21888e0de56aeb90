"""Threads that carry requests to servers and bring answers back; a server that is gone loses its requests to others.

A courier calls no code of others: it puts the answers that it brings into the ticket, and the ticket's owner takes them
out.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.engine.interface import Generation
from assay.engine.remote.transport.messages import ANSWER, LOST
from assay.engine.remote.transport.site import Parcel, Site, StaleWeights
from assay.engine.remote.transport.wire import Garbled, Refused
from assay.errors import AssayError, EndpointError, ProcessLost
from assay.rng import Key, digest
from assay.types import Request

IDLE = 1.0  # seconds after which a courier without work ends
FAREWELL = 5.0  # seconds that a renewal under way has to end before the claim is released
PULSE = 5.0  # seconds between two signs of life that a server is asked for
AGAIN = 0.25  # seconds before the only server that is left is asked again, times the number of faults
STRIKES = 2  # faults in a row after which a server gets no more requests

Read = Callable[[Any, Request], Generation]


@dataclass(frozen=True)
class Patience:
    """How long a server may take.

    Example:
        Patience(answer=600.0, silence=15.0)
    """

    answer: float = 3600.0  # seconds for one exchange: a call of our server, a request to vLLM
    silence: float = 20.0  # seconds without a sign of life
    retries: int = 3  # how often a request is sent again


@dataclass(eq=False)
class Order:
    """The requests of one ticket, as couriers see them.

    `arrived` takes (place, generation) of each request, or the error that prevents all of them.
    """

    requests: Sequence[Request]
    key: Key
    salt: str
    keeping: str
    read: Callable[[Site, Any, Request], Generation]
    arrived: queue.SimpleQueue[tuple[int, Generation] | BaseException] = field(default_factory=queue.SimpleQueue)
    over: bool = False  # nobody waits for it any more
    tries: Counter[int] = field(default_factory=Counter)  # by place
    where: dict[int, int] = field(default_factory=dict)  # place -> number of the server that has the request
    heard: float = field(default_factory=time.monotonic)  # when a courier last brought anything

    def bring(self, item: tuple[int, Generation] | BaseException) -> None:
        self.heard = time.monotonic()
        self.arrived.put(item)


class Couriers:
    """Sends orders to N servers. A group of requests stays with its server for as long as the server is there.

    couriers = Couriers(sites, run="run-7", patience=Patience())
    couriers.send(order, range(len(order.requests)))
    """

    def __init__(self, sites: Sequence[Site], *, run: str, patience: Patience, ours: bool = False) -> None:
        """`ours`: the run started these servers, and can start others."""
        self.sites, self.run, self.patience, self.ours = list(sites), run, patience, ours
        self.lost: dict[int, str] = {}  # number of a server that gets no more requests -> why
        self.resubmitted = 0  # requests that were sent again
        self._held: set[int] = set()  # servers whose requests wait, because they do not have the weights of now
        self._strikes = [0] * len(sites)
        self._waiting: list[deque[tuple[Order, list[int]]]] = [deque() for _ in sites]
        self._working = [0] * len(sites)  # couriers of each server
        self._lock = threading.RLock()
        self._closed = threading.Event()
        self._pulses = [threading.Thread(target=self._pulse, args=(i,), daemon=True) for i in range(len(sites))]
        for thread in self._pulses:
            thread.start()

    def close(self) -> None:
        """Ends what is under way. Servers are not told."""
        self._closed.set()
        for site in self.sites:
            site.wire.cut()
        for thread in self._pulses:
            thread.join(timeout=min(FAREWELL, self.patience.silence))

    @property
    def closed(self) -> bool:
        return self._closed.is_set()

    @property
    def living(self) -> list[int]:
        with self._lock:
            return [i for i in range(len(self.sites)) if i not in self.lost]

    def replace(self, number: int, site: Site) -> None:
        """Another server takes the place of number `number`. Its requests wait until it is welcome."""
        with self._lock:
            self.sites[number], self._strikes[number] = site, 0
            self.lost.pop(number, None)
            self._held.add(number)

    def welcome(self) -> None:
        """All servers have the weights of now: none lets its requests wait any more."""
        with self._lock:
            held, self._held = self._held, set()
            for number in held:
                self._engage(number)

    def send(self, order: Order, places: Iterable[int], *, but: int = -1) -> None:
        """Gives requests to servers, by their groups; `but` is a server that has just failed them."""
        with self._lock:
            living = self.living
            if not living:
                order.bring(self.all_gone())
                return
            choice = [i for i in living if i != but] or living
            by_site: dict[int, list[int]] = {}
            for index in places:
                number = _home(order.requests[index].group, choice)
                order.where[index] = number
                by_site.setdefault(number, []).append(index)
            for number, some in by_site.items():
                size = self.sites[number].parcel or len(some)
                self._waiting[number] += [(order, some[at : at + size]) for at in range(0, len(some), size)]
                self._engage(number)

    def _engage(self, number: int) -> None:
        if number in self._held:
            return
        wanted = min(self.sites[number].at_once, self._working[number] + len(self._waiting[number]))
        for _ in range(self._working[number], wanted):
            self._working[number] += 1
            threading.Thread(target=self._work, args=(number,), name=f"courier {number}", daemon=True).start()

    # The threads

    def _work(self, number: int) -> None:
        idle = time.monotonic()
        while not self._closed.is_set():
            with self._lock:
                ready = self._waiting[number] and number not in self._held
                task = self._waiting[number].popleft() if ready else None
                if task is None and time.monotonic() - idle > IDLE:
                    break
            if task is None:
                self._closed.wait(0.02)
                continue
            self._carry(number, *task)
            idle = time.monotonic()
        with self._lock:
            self._working[number] -= 1
            if self._waiting[number] and not self._closed.is_set():
                self._engage(number)

    def _carry(self, number: int, order: Order, places: list[int]) -> None:
        """One exchange. Answers that come are put into the order; requests without an answer are sent again."""
        if order.over:
            return
        with self._lock:
            site = self.sites[number]
            if number in self.lost:
                self.send(order, places)
                return
        left = dict.fromkeys(places)
        requests = [order.requests[index] for index in places]
        parcel = Parcel(requests, order.key, order.salt, order.keeping)
        try:
            for at, reply in site.answers(
                parcel, self.run, seconds=self.patience.answer, silence=self.patience.silence
            ):
                index = places[at]
                if index in left:
                    made = order.read(site, reply, order.requests[index])
                    del left[index]
                    order.bring((index, made))
                if order.over or self._closed.is_set():
                    return
            with self._lock:
                self._strikes[number] = 0
        except StaleWeights as foreign:  # sending it to another server would not help
            order.bring(foreign)
        except Garbled as nonsense:  # it answers, and would say the same again
            for index in left:
                order.bring((index, Generation.failed(ANSWER, str(nonsense))))
            self._strike(number, str(nonsense))
        except EndpointError as fault:
            if not self._closed.is_set():
                if not (isinstance(fault, Refused) and self._lives(site)):
                    self._strike(number, str(fault))
                self._again(order, list(left), number, str(fault))
        except BaseException as trouble:  # raised where the ticket is waited for
            order.bring(trouble)

    def _lives(self, site: Site) -> bool:
        """Whether a server that refused a request is well otherwise: then the fault may be the request's."""
        try:
            site.claim(self.run, seconds=self.patience.silence)
        except EndpointError:
            return False
        return True

    def _again(self, order: Order, places: Sequence[int], number: int, why: str) -> None:
        """Sends requests again, each at most `retries` times; then they are lost."""
        further: list[int] = []
        for index in places:
            order.tries[index] += 1
            if order.tries[index] <= self.patience.retries:
                further.append(index)
            else:
                times = f"asked {order.tries[index]} times"
                order.bring((index, Generation.failed(LOST, f"{times}, last: {why}", version=0)))
        order.heard = time.monotonic()
        with self._lock:
            self.resubmitted += len(further)
        if further:
            if self.living == [number]:
                self._closed.wait(AGAIN * order.tries[further[0]])
            self.send(order, further, but=number)

    def _strike(self, number: int, why: str) -> None:
        with self._lock:
            self._strikes[number] += 1
            if self._strikes[number] >= STRIKES and number not in self.lost:
                self.lose(number, why)

    def lose(self, number: int, why: str) -> None:
        """No request goes to this server any more; those that wait for it go to others."""
        with self._lock:
            self.lost[number] = why
            waiting, self._waiting[number] = self._waiting[number], deque()
            for order, places in waiting:
                self.send(order, places)

    def _pulse(self, number: int) -> None:
        """Renews the run's claim on a server, and ends the exchanges of one that gives no sign of life."""
        while not self._closed.wait(min(PULSE, self.patience.silence / 2)):
            with self._lock:
                site, lost = self.sites[number], number in self.lost
            if lost:
                continue
            try:
                site.claim(self.run, seconds=self.patience.silence)
            except AssayError as error:
                if self._closed.is_set():
                    return
                with self._lock:
                    if number not in self.lost and self.sites[number] is site:
                        self._strikes[number] += 1
                        if self._strikes[number] >= STRIKES or not isinstance(error, EndpointError):
                            self.lose(number, str(error))
                site.wire.cut()

    def all_gone(self) -> EndpointError:
        causes = "; ".join(f"{i}: {why.rstrip('.')}" for i, why in sorted(self.lost.items()))
        gone = f"no sampler is left of {len(self.sites)} ({causes})."
        if self.ours:
            return ProcessLost(gone)
        return EndpointError(f"{gone} Start them, then `assay resume` continues the run.")


def _home(group: str, numbers: Sequence[int]) -> int:
    """The server of a group: when one goes, only its own groups move."""
    return max(numbers, key=lambda number: digest("sampler", number, group))


def names(sites: Sequence[Site], where: Mapping[int, int]) -> str:
    """The servers that have these requests, for a message."""
    return ", ".join(sites[number].wire.address for number in sorted(set(where.values())))
