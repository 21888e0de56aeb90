"""The verdicts of a round of answers: computed when all are there, or at once, while others are still sampled."""

from __future__ import annotations

import functools
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from assay.types import Episode, Request, Verdict

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

Verify = Callable[[Sequence[Episode]], Sequence[Verdict | None]]
"""Episodes -> a verdict on each; None on an answer to an open problem, which nothing can call right or wrong."""


@functools.cache
def _verifying() -> ThreadPoolExecutor:
    """One thread for the life of the process: foreign programs end with the thread that started them."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(1, thread_name_prefix="verdicts")


def _known(places: Sequence[int], verdicts: Sequence[Verdict | None]) -> dict[int, Verdict]:
    return {place: found for place, found in zip(places, verdicts, strict=True) if found is not None}


class Verdicts(Protocol):
    """Takes the answers of a round as they come, and has their verdicts at its end."""

    def begin(self, requests: Sequence[Request]) -> None:
        """A round with these requests begins. The rest of a round that was broken off is forgotten."""
        ...

    def take(self, place: int, episode: Episode) -> None:
        """The answer at this place of the round is there."""
        ...

    def skip(self, place: int) -> None:
        """The answer at this place is there and gets no verdict."""
        ...

    def end(self) -> dict[int, Verdict]:
        """The verdicts on the answers that were taken, by their places; an answer that the verifier cannot judge has
        none. Raises an error of the verifier.
        """
        ...


class AtEnd:
    """Verifies a round at its end, all answers together: for verifiers that take no time worth speaking of, and for
    those that look at all answers of a round.
    """

    def __init__(self, verify: Verify) -> None:
        self.verify = verify
        self._taken: dict[int, Episode] = {}

    def begin(self, requests: Sequence[Request]) -> None:
        self._taken = {}

    def take(self, place: int, episode: Episode) -> None:
        self._taken[place] = episode

    def skip(self, place: int) -> None:
        """Nothing waits for this answer."""

    def end(self) -> dict[int, Verdict]:
        places = sorted(self._taken)
        return _known(places, self.verify([self._taken[place] for place in places]))


class AtOnce:
    """Gives finished answers to the verifier while the sampler writes others.

    A group is given when its last answer is there, so that a verifier's work for a problem is done once for it.
    Verdicts do not depend on which answers are verified together.

    verdicts = AtOnce(verify)
    verdicts.begin(requests)
    verdicts.take(0, episode)  # of requests[0], as soon as its answer is there
    found = verdicts.end()  # {0: Verdict.ok(), ...}, of all that were taken
    """

    def __init__(self, verify: Verify) -> None:
        self.verify = verify
        self.waited = 0.0  # seconds in which nothing was done but wait for verdicts
        self._groups: list[str] = []  # of the requests of the round
        self._left: Counter[str] = Counter()  # how many answers of each group are not there
        self._waiting: dict[int, Episode] = {}
        self._running: tuple[list[int], Future[Sequence[Verdict | None]]] | None = None
        self._found: dict[int, Verdict] = {}

    def begin(self, requests: Sequence[Request]) -> None:
        if self._running:
            self._running[1].cancel()  # work that the verifier has begun goes on to its end
        self._running, self._waiting, self._found = None, {}, {}
        self._groups = [request.group for request in requests]
        self._left = Counter(self._groups)

    def skip(self, place: int) -> None:
        self._left[self._groups[place]] -= 1
        self._give()

    def take(self, place: int, episode: Episode) -> None:
        self._waiting[place] = episode
        self.skip(place)

    def end(self) -> dict[int, Verdict]:
        began = time.monotonic()
        self._left.clear()
        while self._running or self._waiting:
            self._settle()
            self._give()
        self.waited += time.monotonic() - began
        found, self._found = self._found, {}
        return found

    def _give(self) -> None:
        """Gives the verifier all whole groups that wait, if it has nothing to do."""
        if self._running and not self._running[1].done():
            return
        self._settle()
        whole = [place for place in self._waiting if not self._left[self._groups[place]]]
        if whole:
            given = [self._waiting.pop(place) for place in whole]
            self._running = whole, _verifying().submit(self.verify, given)

    def _settle(self) -> None:
        """Takes the verdicts on the answers that were given, once they are there."""
        if self._running:
            (places, verdicts), self._running = self._running, None
            self._found |= _known(places, verdicts.result())
