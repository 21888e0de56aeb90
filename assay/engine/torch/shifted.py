"""A network whose logits are shifted, at each token, by what training changed in a smaller one (RAST 2506.15710)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from assay.engine.filtering import Drawn, Filters, draw
from assay.engine.interface import Done, Generation
from assay.engine.local import Answered
from assay.engine.prefix_cache import PrefixCache
from assay.engine.sampling_call import Limits
from assay.engine.torch import sampler
from assay.engine.torch.deck import Shelf
from assay.engine.torch.decode import Begun, Caches, Need
from assay.engine.torch.engine import TorchEngine
from assay.engine.torch.packing import Onward
from assay.engine.torch.voices import Alone, Slots
from assay.rng import Key
from assay.types import Request, Stats


def shift(large: Tensor, tuned: Tensor, untuned: Tensor, times: float) -> Tensor:
    """z = z_large + times (z_tuned - z_untuned), before temperature and filters. With 0 it is z_large to the bit."""
    return large + times * (tuned - untuned)


@dataclass(frozen=True, eq=False)
class _Together:
    """The key-value caches of several networks, whose rows stand in the same slots."""

    parts: Sequence[Slots]
    layers: Sequence[int]

    @property
    def room(self) -> int:
        return self.parts[0].room

    @property
    def variant(self) -> int:
        return hash(tuple(part.variant for part in self.parts))

    def admit(self, slot: int, begun: Begun, prefilled: Caches) -> None:
        begin = 0
        for part, count in zip(self.parts, self.layers, strict=True):
            part.admit(slot, begun, prefilled[begin : begin + count])
            begin += count

    def leave(self, left: int) -> None:
        for part in self.parts:
            part.leave(left)

    def move(self, source: np.ndarray, target: np.ndarray, columns: int) -> None:
        for part in self.parts:
            part.move(source, target, columns)

    def columns(self, positions: np.ndarray) -> np.ndarray:
        return self.parts[0].columns(positions)

    def step(self, ids: Tensor, positions: Tensor, longest: int, *, level: bool = False) -> Tensor:
        return torch.cat([part.step(ids, positions, longest, level=level) for part in self.parts], -1)

    def held(self, slot: int, low: int, high: int) -> Tensor:
        raise NotImplementedError("networks of different shapes keep no common prefixes")


@dataclass(frozen=True, eq=False)
class Shifted:
    """Three networks that read the same tokens. Their hidden states stand side by side, each followed by the next."""

    large: Alone
    tuned: Alone
    untuned: Alone
    times: float

    @property
    def voices(self) -> tuple[Alone, ...]:
        return self.large, self.tuned, self.untuned

    @property
    def vocab(self) -> int:
        return self.large.vocab

    @property
    def dtype(self) -> torch.dtype:
        return self.large.dtype

    @property
    def device(self) -> torch.device:
        return self.large.device

    def slots(self, need: Need, count: int, memory_bytes: int) -> int:
        """As many as of the large network alone, so that its products have the same shapes and the same bits."""
        return self.large.slots(need, count, memory_bytes)

    def decoding(self, need: Need) -> _Together:
        return _Together([voice.decoding(need) for voice in self.voices], [*map(_layers, self.voices)])

    def prefill(self, onward: Onward, known: Caches) -> tuple[Tensor, Caches]:
        assert not known, "no prefixes are kept"
        found = [voice.prefill(onward, []) for voice in self.voices]
        return torch.cat([hidden for hidden, _ in found], -1), [pair for _, cache in found for pair in cache]

    def logits(self, hidden: Tensor) -> Tensor:
        wide = torch.promote_types(self.dtype, torch.float32)
        pieces = hidden.split([voice.network.config.hidden for voice in self.voices], -1)
        said = [voice.logits(piece).to(wide) for voice, piece in zip(self.voices, pieces, strict=True)]
        return shift(*said, times=self.times)

    def draw(self, logits: Tensor, u: Tensor, filters: Filters) -> Drawn:
        return draw(logits, u, filters)


def _layers(voice: Alone) -> int:
    return voice.network.config.layers


class ShiftedSampler:
    """The large model's sampler, with shifted logits. All three models have one vocabulary.

    Example:
        sampler = ShiftedSampler(large, tuned, untuned, times=1.0)
        sampler.generate(requests, key)  # with times=0.0 those of `large`, bit for bit
    """

    has_threads = False

    def __init__(self, large: TorchEngine, tuned: TorchEngine, untuned: TorchEngine, *, times: float) -> None:
        engines = (large, tuned, untuned)
        self.large, self.voice = large, Shifted(*(Alone(engine.network) for engine in engines), times=times)
        self.context = min(engine.context for engine in engines)
        self.vocab, self.end_ids, self.prefilled = large.vocab, large.end_ids, 0

    def generate(self, requests: Sequence[Request], key: Key, *, done: Done | None = None) -> list[Generation]:
        limits = Limits(self.context, self.end_ids, self.large.memory_bytes, self.large.decode)
        about = {"limits": limits, "version": self.large.version, "kept": PrefixCache[Tensor](0), "done": done}
        about["shelf"] = Shelf(stays=False)
        made, prefilled = sampler.generate(self.voice, requests, key, **about)
        self.prefilled += prefilled
        return made

    def submit(self, requests: Sequence[Request], key: Key, *, done: Done | None = None) -> Answered:
        return Answered(self.generate(requests, key, done=done))

    @contextmanager
    def keeping(self) -> Iterator[None]:
        """Nothing is kept: every prompt is run whole."""
        yield

    def measured(self) -> Stats:
        return {}

    def writers(self, requests: Sequence[str]) -> str:
        return ""
