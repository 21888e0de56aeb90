"""The base of the native and the torch engine: both run our own transformer, with a hand-written backward pass."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor

from assay.engine.footprint import kept_tokens
from assay.engine.interface import Span
from assay.engine.local import LaidChunk, LocalEngine
from assay.engine.torch.influence import influence


class NetworkEngine(LocalEngine):
    """An engine for `Transformer`."""

    def _prepare(self) -> None:
        self.model.fit(self.context)  # one set of rotary angles for all rows: decoding, training and scoring must agree

    def influence(self, spans: Sequence[Span], ends: Sequence[Sequence[int]], *, gap: int) -> list[np.ndarray]:
        pairs = zip(spans, ends, strict=True)
        return [influence(self.model, span.context, span.ids, at, gap) for span, at in pairs]

    @abstractmethod
    def states(self, chunk: LaidChunk, *, keep: bool) -> tuple[Tensor, Any]:
        """The hidden states [M, D] that predict the tokens of a chunk and, with `keep`, what `pull_states` needs."""

    @abstractmethod
    def pull_states(self, chunk: LaidChunk, kept: Any, grad: Tensor) -> None:
        """Takes the gradient [M, D] by these states through the network, and adds to the parameters' gradients."""

    def _room_to_keep(self) -> int:
        itemsize = (self.wide if self.reads_fp32 else self.compute).itemsize
        return kept_tokens(self.model.config, memory_bytes=self.memory_bytes, itemsize=itemsize)
