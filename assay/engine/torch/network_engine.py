"""The code that the native and the torch engine share: both run our own
transformer, with a hand-written backward pass.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from torch import Tensor

from assay.engine.footprint import kept_tokens
from assay.engine.local import LaidChunk, LocalEngine
from assay.engine.torch.network import Network


class NetworkEngine(LocalEngine):
    """An engine for `Transformer`. In bf16, the network runs on a bf16 copy of fp32 parameters, made after each step.

    The core packs its copy from fp32 and rounds only the factors of its products to bf16. The base under an adapter is
    kept in the compute format alone.
    """

    rounds = False  # whether the engine rounds the factors of products itself, from a copy of the weights in fp32

    def _prepare(self) -> None:
        self.model.fit(self.context)  # one set of rotary angles for all rows: decoding, training and scoring must agree
        self.network = Network(self.model, self.wide if self.rounds else self.compute, vocab=self.vocab)

    @abstractmethod
    def states(self, chunk: LaidChunk, *, keep: bool) -> tuple[Tensor, Any]:
        """The hidden states [M, D] that predict the tokens of a chunk and, with `keep`, what `pull_states` needs."""

    @abstractmethod
    def pull_states(self, chunk: LaidChunk, kept: Any, grad: Tensor) -> None:
        """Takes the gradient [M, D] by these states through the network, and adds to the parameters' gradients."""

    def _room_to_keep(self) -> int:
        return kept_tokens(self.model.config, memory_bytes=self.memory_bytes, itemsize=self.network.dtype.itemsize)

    def _refresh(self) -> None:
        self.network.refresh()

    def hand_out(self) -> None:
        self.network.hand_out()
