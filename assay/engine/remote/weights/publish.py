"""Publishing: a learner's weights go to every server, and are believed only when the servers compute with them.

A server may report the new version and go on computing with an old tensor. So after each publish the server scores
probes, and its log-probs must be the learner's; where it tells checksums, each tensor's must be that of what we sent.
A step at a small rate moves log-probs by less than any tolerance, and an old tensor would go unnoticed by probes alone.
So a server's first publish is a handshake: weights of which every tensor is changed are published, scored, and taken
back.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import numpy as np

from assay.engine.interface import Done, Generation, Scores, Span, Ticket
from assay.engine.remote.sampler import RemoteSampler
from assay.engine.remote.transport.site import Site, StaleWeights
from assay.engine.remote.transport.wire import Gone
from assay.engine.remote.weights.receive import BUCKET, checksum, digest_of
from assay.engine.remote.weights.send import Carrier
from assay.errors import EndpointError
from assay.host import terminal
from assay.rng import Key
from assay.types import Request, Stats

if TYPE_CHECKING:
    from torch import Tensor

    from assay.engine.paired import Trainer

PROBES = 4  # continuations that are scored
PROBE_CONTEXT, PROBE_TOKENS = 12, 24
FAULTS = 2  # failed publishes after which a server is given up
SECONDS = 600.0  # for one bucket, or for the pause before the first
FAREWELL = 30.0  # for each exchange that breaks an update off


def probes(vocab: int, context: int) -> list[Span]:
    """Continuations of ids from all of the vocabulary, which fit a model's context."""
    drawn = Key("probes").generator()
    first = min(PROBE_CONTEXT, max(1, context // 3))
    after = min(PROBE_TOKENS, max(1, context - first - 1))
    ids = drawn.integers(0, vocab, (PROBES, first + after)).astype(np.int32)
    return [Span(row[:first], row[first:]) for row in ids]


class Published:
    """A sampler over servers, which a learner publishes its weights to.

    sampler = Published(RemoteSampler(sites, expected, run="run-7"), learner, Files(run / "weights"), tolerance=1e-3)
    sampler.receive(learner.tensors(), learner.version)
    """

    has_threads = False  # the servers are processes of their own
    merges = True  # servers have plain networks

    def __init__(
        self,
        sampler: RemoteSampler,
        source: Trainer,
        carrier: Carrier,
        *,
        tolerance: float,
        revive: Callable[[int], Site] | None = None,
    ) -> None:
        """`revive` starts another server in place of a lost one, by its number; None where servers are not ours."""
        self.sampler, self.source, self.carrier, self.tolerance = sampler, source, carrier, tolerance
        self.revive = revive
        self.context, self.vocab, self.end_ids = sampler.context, sampler.vocab, sampler.end_ids
        self.probes = probes(source.vocab, sampler.context)
        self.gap = 0.0  # the largest difference of a probe's log-prob at the last publish
        self.seconds = 0.0  # that publishing took since `measured` was asked
        self.moved = 0  # bytes that went to each server at the last publish
        self._known: set[Site] = set()  # servers that have shaken hands
        self._sums: dict[str, str] = {}  # of the tensors of the last publish

    @property
    def version(self) -> int:
        return self.sampler.version

    @property
    def exact(self) -> bool:
        return self.sampler.exact

    @property
    def prefilled(self) -> int:
        return self.sampler.prefilled

    def submit(self, requests: Sequence[Request], key: Key, *, done: Done | None = None) -> Ticket:
        return self.sampler.submit(requests, key, done=done)

    def generate(self, requests: Sequence[Request], key: Key, *, done: Done | None = None) -> list[Generation]:
        return self.sampler.generate(requests, key, done=done)

    def keeping(self) -> AbstractContextManager[None]:
        return self.sampler.keeping()

    def writers(self, requests: Sequence[str]) -> str:
        return self.sampler.writers(requests)

    def measured(self) -> Stats:
        found = self.sampler.measured() | {"time/publish": self.seconds, "samplers/probe_gap": self.gap}
        self.seconds = 0.0
        return found

    def close(self) -> None:
        self.sampler.close()
        self.carrier.close()

    # Publishing

    def receive(self, weights: Iterable[tuple[str, Tensor]], version: int) -> None:
        """Publishes these weights to every living server, and has each of them score the probes.

        Lost servers that are ours are started again before. A server that fails twice is replaced, if it is ours; else
        the others go on without it. A server that goes on computing with other weights ends the run.
        """
        began = time.monotonic()
        with self.sampler.publishing():
            digest = self._reach(weights, version)
            self.sampler.published(version, digest=digest)
        self.seconds += time.monotonic() - began

    def _reach(self, weights: Iterable[tuple[str, Tensor]], version: int) -> str:
        """Publishes to every server that is left, again where it failed; returns the digest of the weights."""
        faults: Counter[int] = Counter()
        waiting = self._revived() | set(self.sampler.couriers.living)
        while waiting:
            found = self._round(waiting, weights, version)
            for number, error in found.items():
                faults[number] += 1
                if faults[number] >= FAULTS:
                    self._give_up(number, error, last=faults[number] >= 2 * FAULTS)
            weights = self.source.tensors(merged=True)
            waiting = self._revived() | (found.keys() & set(self.sampler.couriers.living))
        if not self.sampler.couriers.living:
            raise self.sampler.couriers.all_gone()
        return digest_of(self._sums)

    def _revived(self) -> set[int]:
        """The numbers of the lost servers in whose place another one was started."""
        revived = set()
        for number, why in self.sampler.lost.items():
            if self.revive is None:
                break
            terminal.say(f"warning: sampler {number} was lost ({why}); another one takes its place.")
            self.sampler.replace(number, self.revive(number))
            revived.add(number)
        return revived

    def _give_up(self, number: int, error: EndpointError, *, last: bool) -> None:
        """No request goes to this server any more. Raises if another one would do no better, or if the server writes
        with weights that nobody knows and is not ours to replace.
        """
        if last or (isinstance(error, StaleWeights) and self.revive is None):
            raise error
        self.sampler.couriers.lose(number, str(error))

    def _round(
        self, numbers: Iterable[int], weights: Iterable[tuple[str, Tensor]], version: int
    ) -> dict[int, EndpointError]:
        """Publishes to these servers: number -> why it failed. Servers that are new shake hands before."""
        sites = {number: self.sampler.sites[number] for number in sorted(numbers)}
        new = {number: site for number, site in sites.items() if site not in self._known}
        failed: dict[int, EndpointError] = {}
        if new:
            with self.source.disturbed():
                failed = self._publish(new, self.source.tensors(merged=True), version)
            self._known |= {site for number, site in new.items() if number not in failed}
        sound = {number: site for number, site in sites.items() if number not in failed}
        return failed | self._publish(sound, weights, version)

    def _publish(
        self, sites: Mapping[int, Site], weights: Iterable[tuple[str, Tensor]], version: int
    ) -> dict[int, EndpointError]:
        """Publishes to these servers at once: number -> why it failed."""
        run, label = self.sampler.run, str(version)
        failed: dict[int, EndpointError] = {}

        def act(what: Callable[[Site], None]) -> None:
            def on(number: int) -> None:
                try:
                    what(sites[number])
                except EndpointError as error:
                    failed[number] = error

            list(threads.map(on, [number for number in sites if number not in failed]))

        with ThreadPoolExecutor(max(1, len(sites)), "publish") as threads:
            whole = False
            try:
                # a run that stood still may have lost its lease
                act(lambda site: site.claim(run, seconds=self.sampler.patience.silence))
                act(lambda site: self.carrier.reach(site, run))
                act(lambda site: site.begin(run, seconds=SECONDS))
                sums: dict[str, str] = {}
                self._sums, self.moved = sums, 0
                for bucket in _buckets(weights):
                    sums |= {name: checksum(tensor) for name, tensor in bucket.items()}
                    with self.carrier.packed(bucket) as packed:
                        self.moved += packed.size
                        act(lambda site, packed=packed: self.carrier.hand(site, packed, run, seconds=SECONDS))
                act(lambda site: site.commit(label, run, seconds=SECONDS))
                whole = True
            finally:
                for number in failed if whole else sites:
                    if not isinstance(failed.get(number), Gone):  # a server that is gone hears nothing
                        self._abandon(sites[number])
            expected, gaps = self.source.score(self.probes), [0.0]
            act(lambda site: gaps.append(self._believe(site, sums, expected)))
        self.gap = max(gaps)
        return failed

    def _abandon(self, site: Site) -> None:
        """Breaks an update off. The weights that the server then holds came from this run, and are of no version."""
        self.sampler.holds.pop(site, None)
        try:
            site.abandon(self.sampler.run, seconds=FAREWELL)
            self.sampler.holds[site] = site.held(seconds=FAREWELL)
        except EndpointError as error:
            terminal.tell(f"{error} It may be left paused.")

    def _believe(self, site: Site, sums: Mapping[str, str], expected: Sequence[Scores]) -> float:
        """By how much its log-probs of the probes differ. `StaleWeights` where its tensors are not the learner's, or it
        does not compute with them.
        """
        there = site.checksums(self.sampler.run, seconds=SECONDS)
        if there and (wrong := sorted(name for name, value in sums.items() if there.get(name) != value)):
            raise StaleWeights(
                f"{site.wire.name} holds other bytes than were published in {len(wrong)} of {len(sums)} tensors, "
                f"first {wrong[0]}: nothing is trained on what it writes. Start it again, then `assay resume`."
            )
        self.sampler.holds[site] = site.held(seconds=SECONDS)
        scored = site.score(self.probes)
        gap = max(
            float(np.abs(np.float64(mine.logp) - theirs).max()) for mine, theirs in zip(expected, scored, strict=True)
        )
        if not gap <= self.tolerance:
            raise StaleWeights(
                f"{site.wire.name} reports the new weights, and its log-probs of probes differ from the learner's "
                f"by up to {gap:.3g}; at most {self.tolerance:g} is allowed. It computes with an old tensor, or "
                "otherwise than the learner: nothing is trained on what it writes."
            )
        return gap


def _buckets(weights: Iterable[tuple[str, Tensor]]) -> Iterator[dict[str, Tensor]]:
    """The weights in buckets of at most `BUCKET` bytes, or one larger tensor."""
    bucket: dict[str, Tensor] = {}
    filled = 0
    for name, tensor in weights:
        if bucket and filled + tensor.nbytes > BUCKET:
            yield bucket
            bucket, filled = {}, 0
        bucket[name] = tensor.detach()
        filled += tensor.nbytes
    if bucket:
        yield bucket
