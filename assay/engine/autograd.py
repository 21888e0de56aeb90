"""The base of engines whose network gives logits that torch's autograd goes back through."""

from __future__ import annotations

import weakref
from abc import abstractmethod

import numpy as np
import torch
from torch import Tensor

from assay.engine.head import coefficients_of, outputs_of, pull, read
from assay.engine.interface import Chunk, Outputs, Want
from assay.engine.layout import Layout
from assay.engine.local import LaidChunk, LocalEngine
from assay.errors import UsageError


class AutogradEngine(LocalEngine):
    """An engine that learns and scores by the logits of `predicting`; what is left to others is how it writes."""

    exact = False

    @abstractmethod
    def predicting(self, layout: Layout) -> tuple[Tensor, None]:
        """The logits [M, V] from which the response tokens were chosen; there is no output layer behind them."""

    def _prepare(self) -> None:
        self.model.eval()
        # the logits of each forward pass, with their autograd graph, until `backward` takes them
        self._held: weakref.WeakKeyDictionary[Outputs, Tensor] = weakref.WeakKeyDictionary()

    def _refresh(self) -> None:
        """Nothing to do: the network computes on the parameters themselves, not on a copy."""

    def hand_out(self) -> None:
        """Nothing to do: autograd has added the gradients to the parameters already."""

    def forward(self, chunk: Chunk, want: Want) -> Outputs:
        assert isinstance(chunk, LaidChunk)
        self._refuse_unknown(chunk, want)
        learns = torch.is_grad_enabled() and self.optimiser is not None
        with torch.set_grad_enabled(learns):
            logits, _ = self.predicting(chunk.layout)
        readout = read(
            logits.detach(),
            None,
            chunk.streams["ids"],
            chunk.tau,
            entropy=want.entropy,
            top_ids=chunk.streams["top_ids"] if want.top_ids else None,
            mean_logp=want.mean_logp,
            likeliest=want.likeliest,
        )
        outputs = outputs_of(readout, learns=learns)
        if learns:
            self._held[outputs] = logits
        return outputs

    def backward(self, chunk: Chunk, outputs: Outputs) -> None:
        assert isinstance(chunk, LaidChunk)
        logits = self._held.pop(outputs, None)
        if logits is None:
            raise UsageError("backward needs the outputs of a forward with gradients, once")
        coefficients = coefficients_of(outputs)
        if coefficients is None:
            return
        ids, top_ids = chunk.streams["ids"], chunk.streams.get("top_ids")
        by_logits = pull(logits.detach(), None, ids, chunk.tau, coefficients, None, top_ids=top_ids)
        torch.autograd.backward(logits, by_logits)

    def _score(self, layout: Layout, ids: np.ndarray, tau: Tensor, entropy: bool) -> tuple[Tensor, Tensor | None]:
        logits, _ = self.predicting(layout)
        out = read(logits, None, torch.from_numpy(ids).to(self.device), tau, entropy=entropy)
        return out.logp, out.entropy
