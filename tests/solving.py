"""A sampler that writes worked solutions turn by turn, for tests of what is shown of turns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from assay.engine.interface import Generation
from assay.rng import Key
from assay.types import Request, Segment

SLIP = "[?]"  # a call that makes no sense
LOGP = -0.25  # of each token


class Solving:
    """Writes the solution of a task with calls in brackets: up to the next call, or to its end. Every second answer
    begins with a slip, which the world replies to as an error.
    """

    has_threads, prefilled = False, 0

    def __init__(self, codec: Any) -> None:
        self.codec, self.vocab, self.context = codec, codec.vocab, 256
        self.end_ids = codec.end_ids

    @contextmanager
    def keeping(self) -> Iterator[None]:
        yield

    def generate(
        self,
        requests: Sequence[Request],
        key: Key,
        *,
        done: Callable[[int, Generation], None] = lambda place, made: None,
    ) -> list[Generation]:
        made = [self._made(request) for request in requests]
        for place, generation in enumerate(made):
            done(place, generation)
        return made

    def _made(self, request: Request) -> Generation:
        text, ends = self._next(request)
        ids = np.concatenate([self.codec.encode(text), np.array([min(self.end_ids)] * ends, np.int32)])
        logp = np.full(len(ids), LOGP, np.float32)
        return Generation(Segment(ids.astype(np.int32), np.zeros(len(ids), np.int8), logp, logp), "stop")

    def _next(self, request: Request) -> tuple[str, bool]:
        slips, said = request.sample % 2 == 1, list(request.prefix)
        if slips and not said:
            return SLIP, False
        text = self.codec.decode([token for segment in said[2 * slips :] for token in segment.ids.tolist()])
        assert request.problem.solution is not None
        rest = request.problem.solution[len(text) :]
        call = rest.find("]") + 1 if "]" in rest else len(rest)
        return rest[:call], call == len(rest)
