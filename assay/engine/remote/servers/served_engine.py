"""An engine that many ask at once: calls wait in a queue, and one thread runs the engine on them."""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from assay.engine.interface import Generation, Scores, Span
from assay.engine.remote.weights.receive import Piece, Receiver, digest_of
from assay.errors import AssayError, EndpointError
from assay.rng import Key
from assay.types import Request

if TYPE_CHECKING:
    from assay.engine.local import LocalEngine

GATHER = 0.005  # seconds in which single requests that arrive are put into one call
BROKEN_OFF = "an update of the weights was broken off, and they have parts of two versions: update them again."
TURN = 0.2  # seconds after which a thread that waits looks around


class Taken(EndpointError):
    """Another run has the lease."""


class Unready(EndpointError):
    """The engine cannot be asked now: it is busy, or has parts of two versions of its weights."""


@dataclass(eq=False)
class Call:
    """Requests that are sampled together, and their answers.

    Torch's sums depend on the shape of a batch, so a whole call of a sampler stays a call here: then its bits are those
    of the same call in the sampler's own process. Single requests are gathered.
    """

    requests: Sequence[Request]
    key: Key
    single: bool = False
    keeping: str = ""  # calls of one name, one after the other, share the engine's prefix cache
    answers: queue.SimpleQueue[tuple[int, Generation] | BaseException | None] = field(default_factory=queue.SimpleQueue)
    dropped: bool = False  # nobody waits for it any more
    prefilled: int = 0  # prompt tokens that were run for it; of calls that were gathered, the first has all
    weights: str = ""  # the digest of those that write its answers; "" for those that the server was started with

    @property
    def ids(self) -> set[str]:
        return {request.id for request in self.requests}


class _Dropped(Exception):
    """Ends a call of the engine whose answers nobody waits for."""


class Lease:
    """The right of one run to ask. If it is not renewed, it ends by itself: a run that was killed leaves its servers
    free.
    """

    def __init__(self) -> None:
        self.run, self._until = "", 0.0
        self._lock = threading.Lock()

    def holder(self) -> str:
        with self._lock:
            return self.run if time.monotonic() < self._until else ""

    def take(self, run: str, seconds: float) -> None:
        self.require(run)
        with self._lock:
            self.run, self._until = run, time.monotonic() + seconds

    def release(self, run: str) -> None:
        self.require(run)
        with self._lock:
            self.run, self._until = "", 0.0

    def require(self, run: str) -> None:
        """Raises `Taken` where another run has the lease."""
        holder = self.holder()
        if holder and holder != run:
            raise Taken(f"this server is used by the run {holder}. End that run, or name another server.")


class ServedEngine:
    """An engine with a queue of calls.

    Example:
        served = ServedEngine(engine)
        served.start()
        served.submit(call)
        for place, made in served.answers(call): ...
    """

    def __init__(self, engine: LocalEngine) -> None:
        self.engine, self.lease, self.receiver = engine, Lease(), Receiver(engine)
        self.label = str(engine.version)  # the name that the sender of the weights gave them
        self.sums: dict[str, str] = {}  # of the weights that were taken last: name -> checksum, as they are kept here
        self.digest = ""  # of these; "" while weights are taken
        self._waiting: deque[Call] = deque()
        self._running: list[Call] = []
        self._paused = self._updating = self._stopped = False
        self._paused_by = ""  # the run that paused it
        self._change = threading.Condition()
        self._thread = threading.Thread(target=self._work, name="engine", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        with self._change:
            self._stopped = True
            self._change.notify_all()
        self._thread.join(timeout=10.0)

    # Asking

    def submit(self, call: Call) -> None:
        with self._change:
            if self._updating and not self._paused_by_living_run():
                raise Unready(BROKEN_OFF)
            self._waiting.append(call)
            self._change.notify_all()

    def answers(self, call: Call) -> Iterator[tuple[int, Generation] | None]:
        """(place, generation) as they come; None from time to time, so that the listener can see if it still has to
        listen. An error that prevented them is raised.
        """
        while True:
            try:
                item = call.answers.get(timeout=TURN)
            except queue.Empty:
                if not self._thread.is_alive():
                    raise AssayError("the thread of the engine has ended.") from None
                yield None
                continue
            if item is None:
                return
            if isinstance(item, BaseException):
                raise item
            yield item

    def drop(self, ids: set[str]) -> tuple[list[str], list[str]]:
        """(ids that wait and are given up, ids that are being written, which end only with their whole call)."""
        with self._change:
            waiting = [call for call in self._waiting if not ids or call.ids & ids]
            for call in waiting:
                self._waiting.remove(call)
                call.answers.put(Unready("the request was aborted before it began."))
            running = [call for call in self._running if not ids or call.ids & ids]
            return sorted(i for c in waiting for i in c.ids), sorted(i for c in running for i in c.ids)

    def score(self, spans: Sequence[Span], seconds: float) -> list[Scores]:
        """The log-probs of given continuations, between two calls, also of a server that is paused."""
        alone = Call([], Key(0))
        with self._change:
            if not self._change.wait_for(lambda: not self._running, timeout=seconds):
                raise Unready(f"the call under way did not end within {seconds:g} s.")
            self._running = [alone]
        try:
            return self.engine.score(spans)
        finally:
            with self._change:
                self._running = []
                self._change.notify_all()

    # Pausing and weights

    @property
    def paused(self) -> bool:
        return self._paused or self._updating

    def pause(self, seconds: float, run: str = "") -> None:
        """No further call begins; returns when the one under way has ended. Calls go on waiting."""
        with self._change:
            self._paused, self._paused_by = True, run
            if not self._change.wait_for(lambda: not self._running, timeout=seconds):
                raise Unready(
                    f"the call under way did not end within {seconds:g} s; it goes on, and nothing follows it."
                )

    def resume(self) -> None:
        with self._change:
            self._paused = False
            self._change.notify_all()

    def begin_weights(self, seconds: float, run: str = "") -> None:
        self.pause(seconds, run)
        self._updating = True
        self.sums, self.digest = {}, ""
        self.receiver.start()

    def take_weights(self, pieces: Iterator[Piece]) -> None:
        if not self._updating:
            raise Unready("weights are taken between /start_weight_update and /finish_weight_update.")
        for name, first, rows in pieces:
            self.receiver.take(name, first, rows)

    def end_weights(self, version: int, label: str) -> None:
        if not self._updating:
            raise Unready("no update of the weights was begun: /start_weight_update comes first.")
        self.receiver.finish(version)
        sums = self.receiver.checksums()
        with self._change:
            self.sums, self.digest = sums, digest_of(sums)
            self._updating, self.label = False, label
            self._paused = False
            self._change.notify_all()

    def load_weights(self, version: int, weights: Mapping[str, Any]) -> None:
        """Takes whole tensors by their names in checkpoint files, all of them, and serves them as this version."""
        self.begin_weights(600.0)
        self.take_weights((name, 0, tensor) for name, tensor in weights.items())
        self.end_weights(version, str(version))

    def _paused_by_living_run(self) -> bool:
        return not self._paused_by or self.lease.holder() == self._paused_by

    # The thread of the engine

    def _work(self) -> None:
        with ExitStack() as cache:
            kept = ""
            while (calls := self._next()) is not None:
                if not calls:
                    continue
                if calls[0].keeping != kept:
                    cache.close()
                    kept = calls[0].keeping
                    if kept:
                        cache.enter_context(self.engine.keeping())
                self._run(calls)

    def _next(self) -> list[Call] | None:
        """The calls that are run together next; [] if there are none now, None when all is over."""
        with self._change:
            if not self._paused_by_living_run():
                self._free()
            ready = self._change.wait_for(lambda: self._stopped or self._may_begin, timeout=TURN)
            if self._stopped:
                return None
            if not ready:
                return []
            if self._waiting[0].single:
                self._change.wait(timeout=GATHER)
            calls = self._gathered() if self._may_begin else []
            self._running = calls or self._running
            return calls

    @property
    def _may_begin(self) -> bool:
        return bool(self._waiting) and not self.paused and not self._running

    def _free(self) -> None:
        """After the run that paused the server was killed: it goes on, unless its weights are of two versions."""
        self._paused = False
        while self._updating and self._waiting:
            self._waiting.popleft().answers.put(Unready(BROKEN_OFF))

    def _gathered(self) -> list[Call]:
        """The first call, and if it is a single request all others that draw from the same key."""
        first = self._waiting.popleft()
        together, ids = [first], first.ids
        if first.single:
            for call in list(self._waiting):
                alike = call.single and (call.key.hex, call.keeping) == (first.key.hex, first.keeping)
                if alike and not call.ids & ids:
                    self._waiting.remove(call)
                    together.append(call)
                    ids |= call.ids
        return together

    def _run(self, calls: Sequence[Call]) -> None:
        owner = [(call, index) for call in calls for index in range(len(call.requests))]

        def done(i: int, made: Generation) -> None:
            if all(call.dropped for call in calls):
                raise _Dropped
            call, index = owner[i]
            call.answers.put((index, made))

        end: BaseException | None = None
        before = self.engine.prefilled
        for call in calls:  # weights are taken between two calls alone
            call.weights = self.digest
        try:
            if not all(call.dropped for call in calls):
                self.engine.generate([r for call in calls for r in call.requests], calls[0].key, done=done)
        except _Dropped as dropped:
            end = dropped
        except Exception as error:  # handed to the calls that asked
            end = error
        finally:
            calls[0].prefilled = self.engine.prefilled - before
            with self._change:
                self._running = []
                self._change.notify_all()
            for call in calls:
                call.answers.put(end)
