"""A server of samplers as seen by the run that asks it, and the properties that it must share with the learner."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from assay.engine.interface import Span
from assay.engine.remote.transport.wire import Wire
from assay.engine.sampling_call import Decode
from assay.errors import ConfigError, EndpointError
from assay.rng import Key
from assay.streams import Floats
from assay.types import Request


class StaleWeights(EndpointError):
    """A server does not compute with the weights that were published to it."""


@dataclass(frozen=True)
class Expected:
    """The model that a run trains, as each of its samplers must serve it.

    Example:
        Expected(vocab=engine.vocab, context=engine.context, end_ids=engine.end_ids, decode=engine.decode)
    """

    vocab: int  # ids that the tokenizer knows: 0 .. vocab - 1
    context: int  # the most tokens that prompt and answer may have together
    end_ids: frozenset[int]
    decode: Decode | None = None  # needed for requests with stop strings
    rows: int = 0  # of the output layer, where they are more than `vocab`; 0: the same
    probes: tuple[tuple[Span, Floats], ...] = ()  # continuations, and their log-probs as the learner scores them
    tolerance: float = 0.02  # by how much a server's log-probs of the probes may differ
    digest: str = ""  # the `fingerprint` of the model, as it is before the first step; "": not compared

    @property
    def all_rows(self) -> int:
        return self.rows or self.vocab


@dataclass(frozen=True, eq=False)
class Parcel:
    """Requests that go to one server together."""

    requests: Sequence[Request]
    key: Key
    salt: str  # of the server's prefix cache: the version of the weights
    keeping: str = ""  # parcels of one name share the server's prefix cache


class Site(Protocol):
    """A server and the way in which it is spoken to: our own, or vLLM."""

    wire: Wire
    at_once: int  # exchanges under way at a time
    parcel: int  # the most requests in one exchange; 0: any number
    prefilled: int  # prompt tokens that it has run for us
    streams: bool  # whether the answers keep the bits of the engine's own streams
    place: str  # `Learner.place` of its engine, once it is examined; "": its bits are nobody's

    def examine(self, expected: Expected) -> str:
        """The label of the weights that it serves. ConfigError for a server that cannot sample for this run."""
        ...

    def claim(self, run: str, *, seconds: float) -> None:
        """Says, from time to time, that this run uses the server. An error shows that the server is gone."""
        ...

    def release(self, run: str, *, seconds: float) -> None:
        """Says that the run does not use the server any more."""
        ...

    def score(self, spans: Sequence[Span]) -> list[np.ndarray]:
        """The log-probabilities of given continuations at temperature 1, as the server computes them."""
        ...

    def answers(self, parcel: Parcel, run: str, *, seconds: float, silence: float) -> Iterator[tuple[int, Any]]:
        """(place in the parcel, what the server says) for each request, as the answers come."""
        ...

    def begin(self, run: str, *, seconds: float) -> None:
        """An update of the weights begins: no token is written until it is committed or abandoned."""
        ...

    def processes(self, *, seconds: float) -> int:
        """How many processes of the server take weights."""
        ...

    def join(self, told: Mapping[str, Any], run: str, *, seconds: float) -> None:
        """Says how tensors will come; returns when all processes of the server are ready for them."""
        ...

    def take(self, told: Mapping[str, Any], run: str, *, seconds: float) -> None:
        """Takes some of the tensors of the update: `told` says which, or where they lie."""
        ...

    def commit(self, label: str, run: str, *, seconds: float) -> None:
        """All tensors have come: from now on the server writes with them, and calls them so."""
        ...

    def abandon(self, run: str, *, seconds: float) -> None:
        """The update is broken off. Answers that the server writes before the next update are not believed."""
        ...

    def checksums(self, run: str, *, seconds: float) -> dict[str, str]:
        """`weights.receive.checksum` of each tensor that it has taken, by its name in checkpoints."""
        ...

    def held(self, *, seconds: float) -> str:
        """A mark that changes with each order that touches the weights; "" where every answer has their digest."""
        ...


def differences(site: Site, expected: Expected) -> str:
    """How the server scores the run's probes otherwise than the learner did, in words; '' if it agrees."""
    found = site.score([span for span, _ in expected.probes]) if expected.probes else []
    gaps = [float(np.abs(there - here).max()) for there, (_, here) in zip(found, expected.probes, strict=True)]
    if not gaps or max(gaps) <= expected.tolerance:
        return ""
    return f"the log-probs of a probe differ by up to {max(gaps):.3g}, and at most {expected.tolerance:g} is allowed."


def require_same(site: Wire, what: str, *, here: Any, there: Any, advice: str) -> None:
    """Raises ConfigError where a server has another property than the run needs."""
    if here != there:
        raise ConfigError(f"{site.name} has {what} {there}, and this run needs {here}. {advice}")
