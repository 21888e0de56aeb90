"""A policy that writes what a test tells it to, in a tokenizer of one token a character."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from assay.engine.interface import Done, Generation, Heard
from assay.policy import character_tokenizer
from assay.rng import Key
from assay.tasks import ALPHABET
from assay.types import Finish, Request, Segment

BOS, EOS, SEP = 1, 2, 3
CODEC = character_tokenizer(ALPHABET)


def letters(text: str) -> list[int]:
    """The tokens of a text by the rule of the tokenizer: four marks come first, then the printable characters."""
    return [4 + ord(letter) - ord(" ") for letter in text]


class Scripted:
    """An engine whose answers are a function of the whole conversation that it reads, as text without marks."""

    context, vocab, end_ids = 600, CODEC.vocab, CODEC.end_ids
    has_threads, prefilled = False, 0

    def __init__(self, says: Callable[[str], str], *, ends: bool = True, late: float = 0.0) -> None:
        self.says, self.ends, self.late = says, ends, late  # late: seconds that a call takes
        self.calls: list[list[Request]] = []  # the requests of each call
        self.sampled: dict[str, list[int]] = {}  # id of a request -> tokens

    @contextmanager
    def keeping(self) -> Iterator[None]:
        yield

    def generate(
        self, requests: Sequence[Request], key: Key, *, done: Done | None = None, heard: Heard | None = None
    ) -> list[Generation]:
        self.calls.append(list(requests))
        time.sleep(self.late)
        made = [self._written(place, request, heard) for place, request in enumerate(requests)]
        for place, generation in enumerate(made):
            if done is not None:
                done(place, generation)
        return made

    def _written(self, place: int, request: Request, heard: Heard | None) -> Generation:
        read = [*request.context.tolist(), *(one for segment in request.prefix for one in segment.ids.tolist())]
        wanted = letters(self.says(CODEC.decode(read))) + [EOS] * self.ends
        ids: list[int] = []
        finish: Finish = "length"
        for token in wanted[: request.max_new]:
            ids.append(token)
            ended = token == EOS or any(stop in CODEC.decode(ids) for stop in request.stop)
            if ended or (heard is not None and heard(place, np.array(ids, np.int32))):
                finish = "stop"
                break
        self.sampled[request.id] = ids
        nothing = np.full(len(ids), -1.0, np.float32)
        return Generation(Segment(np.array(ids, np.int32), np.zeros(len(ids), np.int8), nothing, nothing), finish)
