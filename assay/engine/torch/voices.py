"""The source of the probabilities of next tokens, as the sampler needs it: one network, or several together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from assay.engine import footprint
from assay.engine.filtering import Drawn, Filters
from assay.engine.torch.decode import Begun, Caches, Decoder, Need
from assay.engine.torch.network import Network
from assay.engine.torch.packing import Onward, pack_onward
from assay.engine.torch.shared_decode import SharedDecoder


def row_bytes(network: Network, length: int) -> int:
    return footprint.row_bytes(network.config, length, network.dtype.itemsize)


def slots_for(network: Network, length: int, count: int, memory_bytes: int) -> int:
    """How many rows this network has in flight."""
    size, cuda = network.dtype.itemsize, network.device.type == "cuda"
    return footprint.slots(
        network.config, length=length, count=count, memory_bytes=memory_bytes, itemsize=size, cuda=cuda
    )


class Slots(Protocol):
    """The key-value caches of the rows in flight, and the step that feeds them: see `Decoder`."""

    @property
    def room(self) -> int:
        """The columns of a slot."""
        ...

    def admit(self, slot: int, begun: Begun, prefilled: Caches) -> None: ...
    def leave(self, left: int) -> None: ...
    def move(self, source: np.ndarray, target: np.ndarray, columns: int) -> None: ...
    def held(self, slot: int, low: int, high: int) -> Tensor: ...
    def columns(self, positions: np.ndarray) -> np.ndarray: ...
    def step(self, ids: Tensor, positions: Tensor, longest: int, *, level: bool = False) -> Tensor: ...

    @property
    def variant(self) -> int:
        """What a recorded step depends on beside its number of rows and columns."""
        ...


class Voice(Protocol):
    """The source of the probabilities of next tokens: one network, or several whose logits are combined."""

    @property
    def vocab(self) -> int: ...
    @property
    def dtype(self) -> torch.dtype: ...
    @property
    def device(self) -> torch.device: ...

    def slots(self, need: Need, count: int, memory_bytes: int) -> int:
        """How many of so many rows it has in flight; the need has none yet."""
        ...

    def decoding(self, need: Need) -> Slots: ...

    def prefill(self, onward: Onward, known: Caches) -> tuple[Tensor, Caches]:
        """The hidden states [N, D] of prompts, and their keys and values; `known` are those of cached prefixes."""
        ...

    def logits(self, hidden: Tensor) -> Tensor:
        """[n, V] for these hidden states."""
        ...

    def draw(self, logits: Tensor, u: Tensor, filters: Filters) -> Drawn:
        """A token for each row of such logits, as `filtering.draw`."""
        ...


def wide_of(voice: Voice) -> torch.dtype:
    """The format in which log-probs are computed."""
    return torch.promote_types(voice.dtype, torch.float32)


@dataclass(frozen=True, eq=False)
class Alone:
    """One network."""

    network: Network

    @property
    def vocab(self) -> int:
        return self.network.vocab

    @property
    def dtype(self) -> torch.dtype:
        return self.network.dtype

    @property
    def device(self) -> torch.device:
        return self.network.device

    def slots(self, need: Need, count: int, memory_bytes: int) -> int:
        shared = self.network.kernels.attend_shared is not None
        return slots_for(self.network, need.longest + need.width if shared else need.length, count, memory_bytes)

    def decoding(self, need: Need) -> Slots:
        if self.network.kernels.attend_shared is None:
            return Decoder(self.network, slots=need.slots, length=need.length)
        return SharedDecoder(self.network, self.network.kernels.attend_shared, need)

    def prefill(self, onward: Onward, known: Caches) -> tuple[Tensor, Caches]:
        c, cache = self.network.config, []
        packed = pack_onward(onward, heads=c.heads, kv_heads=c.kv_heads, device=self.device)
        if not known:
            return self.network.forward(packed, cache=cache)[0], cache
        hidden, _ = self.network.forward(packed, cache=cache, known=known)
        return hidden, [(torch.cat([k, a]), torch.cat([v, b])) for (k, v), (a, b) in zip(cache, known)]

    def logits(self, hidden: Tensor) -> Tensor:
        return hidden @ self.network.head.t()

    def draw(self, logits: Tensor, u: Tensor, filters: Filters) -> Drawn:
        return self.network.kernels.draw(logits, u, filters)
