"""A sampler whose engines are servers: our own or vLLM's, any number of them, reached over HTTP.

An answer depends on the request's key and id and on the weights, not on the server that writes it: with our own server
bit for bit, with vLLM as far as its logits agree. A request that no server answers, or whose answer cannot be
believed, becomes a generation that failed, and never an answer that is worth zero.
"""

from __future__ import annotations

import itertools
import queue
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Self

from assay.engine.interface import Done, Generation
from assay.engine.remote.transport.couriers import Couriers, Order, Patience, names
from assay.engine.remote.transport.messages import read
from assay.engine.remote.transport.site import Expected, Site, StaleWeights
from assay.engine.remote.transport.wire import Gone
from assay.engine.sampling_call import Limits, check
from assay.errors import ConfigError, EndpointError, UsageError
from assay.host import terminal
from assay.rng import Key
from assay.types import Request, Stats

LOOK = 0.5  # seconds after which a thread that waits looks at its deadline
GRACE = 60.0  # seconds beyond the deadline of an exchange in which a courier must have said something
FRESH = {"0": 0, "default": 0}  # how servers call the weights that they were started with
CLAIM = 30.0  # seconds for an exchange that computes nothing
REMEMBERED = 1 << 16  # answers whose server is remembered
FOREIGN = (
    "Another process has given it weights, so nothing that it has written since is trained on. Find out who else knows "
    "its secret, start it again with another one, then `assay resume`."
)


class RemoteSampler:
    """The sampler of a run, behind N servers.

    Example:
        with RemoteSampler([AssaySite(a), AssaySite(b)], expected, run="run-7") as sampler:
            ticket = sampler.submit(requests, key)
            ...  # the learner takes a step
            generations = ticket.wait()
    """

    def __init__(
        self,
        sites: Sequence[Site],
        expected: Expected,
        *,
        run: str,
        patience: Patience = Patience(),  # noqa: B008
        place: str = "",
        max_age: int = 0,
        version: int = 0,
        ours: bool = False,
    ) -> None:
        """`run` is the name under which it claims its servers, which are `ours` if the run started them. `place` is
        that of a learner whose bits are those of our engine, and "" for any other.

        `max_age` limits the age of the weights that write an answer: by so many versions they may be older than the
        weights that were published last when the answer was asked for.
        """
        if not sites:
            raise UsageError("a sampler over servers needs the address of at least one.")
        if len({site.wire.address for site in sites}) < len(sites):
            raise ConfigError(f"each server is named once: {', '.join(site.wire.address for site in sites)}.")
        self.expected, self.run, self.patience, self.max_age = expected, run, patience, max_age
        self.context, self.vocab, self.end_ids = expected.context, expected.vocab, expected.end_ids
        self._prefilled = 0  # by servers that were replaced
        self.version = version
        self.place = place
        self._published = {**FRESH, str(version): version}  # labels that servers give to weights -> versions
        self._weights: dict[int, set[str]] = {}  # version -> digests of the weights that were published under it
        self.holds: dict[Site, str] = {}  # the mark of the weights that a server held after the last publish to it
        self._wrote: dict[str, str] = {}  # id of a request -> the server that wrote its answer; the latest ones
        self._settled = threading.Event()  # not while servers take weights
        self._settled.set()
        self._keeping, self._blocks = "", itertools.count(1)
        self._open: list[RemoteTicket] = []  # that may not be ready
        self.waited = self.idle = 0.0  # seconds that callers waited for answers, and that servers had none to write
        self.discarded = 0  # answers that were lost, or could not be believed
        self._told = 0  # requests sent again, of which `measured` has spoken
        claimed: list[Site] = []
        try:
            for site in sites:
                self.admit(site)
                claimed.append(site)
        except BaseException:
            self._release(claimed)
            raise
        self.couriers = Couriers(sites, run=run, patience=patience, ours=ours)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def exact(self) -> bool:
        """Whether every server computes in the place of the learner, bit for bit."""
        return bool(self.place) and all(site.place == self.place for site in self.sites)

    @property
    def prefilled(self) -> int:
        """Prompt tokens that the servers have run. A server may not have counted those of the newest answers yet."""
        return self._prefilled + sum(site.prefilled for site in self.sites)

    @property
    def sites(self) -> Sequence[Site]:
        return self.couriers.sites

    @property
    def lost(self) -> dict[int, str]:
        """Number of each server that gets no more requests, and why; `replace` puts another in its place."""
        return dict(self.couriers.lost)

    @property
    def resubmitted(self) -> int:
        """How many requests were sent again, because a server was gone or refused them."""
        return self.couriers.resubmitted

    def measured(self) -> Stats:
        self._open = [ticket for ticket in self._open if not ticket.ready]
        found = {
            "time/samplers_wait": self.waited,
            "time/samplers_idle": self.idle,
            "samplers/in_air": float(sum(ticket.left for ticket in self._open)),
            "samplers/resubmitted": float(self.resubmitted - self._told),
            "samplers/discarded": float(self.discarded),
            "samplers/lost": float(len(self.lost)),
        }
        self.waited, self.idle, self.discarded, self._told = 0.0, 0.0, 0, self.resubmitted
        return found

    def admit(self, site: Site) -> None:
        """Examines a server and claims it."""
        site.examine(self.expected)
        site.claim(self.run, seconds=CLAIM)

    def replace(self, number: int, site: Site) -> None:
        """Another server takes the place of a lost one, and is asked once the weights of now are published to it."""
        self.admit(site)
        self._prefilled += self.sites[number].prefilled
        self.couriers.replace(number, site)

    @contextmanager
    def publishing(self) -> Iterator[None]:
        """Inside the block servers take weights. Answers that come meanwhile are read after it, when it is known which
        servers have the weights that they name.
        """
        self._settled.clear()
        try:
            yield
        finally:
            self._settled.set()

    def _settle(self, site: Site) -> None:
        """Waits for the end of a publish under way. Raises `Gone` for a server that is not believed after it."""
        if self._settled.is_set():
            return
        while not self._settled.wait(LOOK) and not self.couriers.closed:
            pass
        if all(self.sites[number] is not site for number in self.couriers.living):
            raise Gone(f"{site.wire.name} was given up before its answer was read.")

    def published(self, version: int, label: str = "", *, digest: str = "") -> None:
        """From now on servers have the weights of this version, which they call `label`: its number, if not given.
        Answers of other weights than those of the `digest` are not taken for those of this version.
        """
        self._published[label or str(version)] = version
        if digest:
            self._weights.setdefault(version, set()).add(digest)
        self.version = version
        self.couriers.welcome()

    def _require_published(self, site: Site, said: Any, made: Generation) -> None:
        """Compares the digest of the weights: anybody who gives a server weights can choose their label, not their
        digest.
        """
        known = self._weights.get(made.segment.version)
        if not site.streams or known is None or (found := said["assay"].get("weights")) in known:
            return
        ours = " and ".join(sorted(one[:12] for one in known))
        raise StaleWeights(
            f"{site.wire.name} wrote an answer with weights of digest {str(found)[:12]} under the number of version "
            f"{made.segment.version}, for which this run has published {ours}. {FOREIGN}"
        )

    def require_held(self) -> None:
        """Raises if somebody has touched the weights of a server since they were published to it. A server that has
        ended cannot be asked, and its last publish is believed.
        """
        for number in self.couriers.living:
            site = self.sites[number]
            if not self.holds.get(site):
                continue
            try:
                digest = site.held(seconds=CLAIM)
            except Gone:
                continue
            if digest != self.holds[site]:
                raise StaleWeights(
                    f"{site.wire.name} holds weights that this run has not published to it ({digest[:24]} in place of "
                    f"{self.holds[site][:24]}). {FOREIGN}"
                )

    def _remember(self, request: str, site: Site) -> None:
        self._wrote.pop(request, None)
        self._wrote[request] = site.wire.name
        while len(self._wrote) > REMEMBERED:
            del self._wrote[next(iter(self._wrote))]

    def writers(self, requests: Sequence[str]) -> str:
        return ", ".join(dict.fromkeys(self._wrote[request] for request in requests if request in self._wrote))

    def close(self) -> None:
        """Ends what is under way and releases the servers that are left."""
        self.couriers.close()
        self._release([self.sites[number] for number in self.couriers.living])

    def _release(self, sites: Sequence[Site]) -> None:
        for site in sites:
            try:
                site.release(self.run, seconds=CLAIM)
            except EndpointError as error:
                terminal.tell(f"{error} Its claim ends by itself.")

    # The protocol

    def submit(self, requests: Sequence[Request], key: Key, *, done: Done | None = None) -> RemoteTicket:
        limits = Limits(self.context, self.end_ids, 0, self.expected.decode)
        check(requests, limits)
        oldest, published, expected = self.version - self.max_age, self._published, self.expected

        def reading(site: Site, said: Any, request: Request) -> Generation:
            self._settle(site)
            made = read(said, request, expected, published=published, oldest=oldest, streams=site.streams)
            if made.finish != "error":
                self._require_published(site, said, made)
                self._remember(request.id, site)
                return made
            return Generation.failed(made.kind, f"{site.wire.name}: {made.detail}", version=made.segment.version)

        order = Order(requests, key, str(self.version), self._keeping, reading)
        ticket = RemoteTicket(self, order, done)
        if requests:
            before, self._open = self._open, [earlier for earlier in self._open if not earlier.ready]
            if before and not self._open:
                self.idle += time.monotonic() - max(earlier.order.heard for earlier in before)
            self._open.append(ticket)
            self.couriers.send(order, range(len(requests)))
        return ticket

    def generate(self, requests: Sequence[Request], key: Key, *, done: Done | None = None) -> list[Generation]:
        return self.submit(requests, key, done=done).wait()

    @contextmanager
    def keeping(self) -> Iterator[None]:
        """Inside the block, each of our servers keeps keys and values between calls, as an engine does."""
        outer = self._keeping
        self._keeping = outer or f"{self.run} {next(self._blocks)}"
        try:
            yield
        finally:
            self._keeping = outer


class RemoteTicket:
    """Requests that were sent to servers. `done` is called where the ticket is asked: by `ready` and by `wait`."""

    def __init__(self, sampler: RemoteSampler, order: Order, done: Done | None) -> None:
        self.sampler, self.order, self.done = sampler, order, done
        self._made: dict[int, Generation] = {}
        self._trouble: BaseException | None = None

    @property
    def ready(self) -> bool:
        while self.left and self._trouble is None:
            try:
                self._take(self.order.arrived.get_nowait())
            except queue.Empty:
                return False
        return True

    def wait(self) -> list[Generation]:
        began = time.monotonic()
        try:
            while self.left and self._trouble is None:
                try:
                    self._take(self.order.arrived.get(timeout=LOOK))
                except queue.Empty:
                    self._require_news()
            if self._trouble is None:
                self._require_held()
        finally:
            self.sampler.waited += time.monotonic() - began
        if self._trouble is not None:
            raise self._trouble
        return [self._made[place] for place in range(len(self.order.requests))]

    def _require_held(self) -> None:
        try:
            self.sampler.require_held()
        except StaleWeights as trouble:
            self._trouble = trouble

    @property
    def left(self) -> int:
        """How many answers have not been taken."""
        return len(self.order.requests) - len(self._made)

    def _take(self, item: tuple[int, Generation] | BaseException) -> None:
        if isinstance(item, BaseException):
            self._trouble, self.order.over = item, True
            return
        place, made = item
        self._made[place] = made
        self.sampler.discarded += made.finish == "error"
        if self.done is not None:
            try:
                self.done(place, made)
            except BaseException as trouble:
                self._trouble, self.order.over = trouble, True
                raise

    def _require_news(self) -> None:
        """Raises if the couriers have said nothing for longer than their deadline, or if they were closed."""
        if self.sampler.couriers.closed:
            raise UsageError("the sampler was closed while answers were under way.")
        most = self.sampler.patience.answer + GRACE
        if time.monotonic() - self.order.heard > most:
            self.order.over = True
            left: Mapping[int, int] = {p: n for p, n in self.order.where.items() if p not in self._made}
            raise EndpointError(
                f"{len(left)} requests have had no news for {most:g} s; they are at {names(self.sampler.sites, left)}. "
                "`assay resume` continues the run."
            )
