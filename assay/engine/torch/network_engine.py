"""What the native and the torch engine share: both run our own transformer, with a hand-written backward pass."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from torch import Tensor

from assay.engine.footprint import kept_tokens
from assay.engine.local import LaidChunk, LocalEngine


class NetworkEngine(LocalEngine):
    """An engine for `Transformer`."""

    def _prepare(self) -> None:
        self.model.fit(self.context)  # one set of rotary angles for all rows: decoding, training and scoring must agree

    @abstractmethod
    def states(self, chunk: LaidChunk, *, keep: bool) -> tuple[Tensor, Any]:
        """The hidden states [M, D] that predict the tokens of a chunk and, with `keep`, what `pull_states` needs."""

    @abstractmethod
    def pull_states(self, chunk: LaidChunk, kept: Any, grad: Tensor) -> None:
        """Takes the gradient [M, D] by these states through the network, and adds to the parameters' gradients."""

    def _room_to_keep(self) -> int:
        itemsize = (self.wide if self.rounds else self.compute).itemsize
        return kept_tokens(self.model.config, memory_bytes=self.memory_bytes, itemsize=itemsize)
