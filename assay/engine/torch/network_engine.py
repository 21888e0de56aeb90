"""What the engines have in common that run a transformer of ours through the network written by hand."""

from __future__ import annotations

from assay.engine.footprint import kept_tokens
from assay.engine.local import LocalEngine
from assay.engine.torch.network import Network


class NetworkEngine(LocalEngine):
    """In bf16 the network runs on a bf16 copy of fp32 parameters, refreshed after each step; the core's is packed from
    fp32, and only its products are of bf16. The base under an adapter is kept in the compute format alone.
    """

    rounds = False  # what it multiplies itself, from a copy of the weights that is as wide as they are

    def _prepare(self) -> None:
        self.model.fit(self.context)  # one rope for every row, so that decoding, training and scoring agree
        self.network = Network(self.model, self.wide if self.rounds else self.compute, vocab=self.vocab)

    def _room_to_keep(self) -> int:
        return kept_tokens(self.model.config, memory_bytes=self.memory_bytes, itemsize=self.network.dtype.itemsize)

    def _refresh(self) -> None:
        self.network.refresh()

    def hand_out(self) -> None:
        self.network.hand_out()
