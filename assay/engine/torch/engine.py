"""The engine in torch: sampler and learner on any torch device, in fp32, bf16 or fp64."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from assay.engine.footprint import TAPE_BYTES, tape_bytes
from assay.engine.head import Readout, coefficients_of, outputs_of
from assay.engine.interface import Chunk, Done, Generation, Heard, Outputs, Want
from assay.engine.layout import Layout
from assay.engine.local import LaidChunk
from assay.engine.sampling_call import Limits
from assay.engine.torch import sampler
from assay.engine.torch.deck import Shelf
from assay.engine.torch.kernels.choose import choose, sizes_of
from assay.engine.torch.lowrank import gradient_of
from assay.engine.torch.network import Activations, Network
from assay.engine.torch.network_engine import NetworkEngine
from assay.engine.torch.packing import Packed, pack
from assay.engine.torch.voices import Alone
from assay.errors import UsageError
from assay.rng import Key
from assay.types import Request


@dataclass(frozen=True, eq=False)
class _Held:
    """The tensors of a forward pass that its backward pass needs: the activations, and the output layer's input and
    results.
    """

    kept: Activations
    predicting: Tensor  # [M, D] hidden states that predict the response tokens
    readout: Readout


class TorchEngine(NetworkEngine):
    """A parameter set on any torch device.

    Example:
        engine = TorchEngine(policy.network, end_ids=policy.end_ids, device="cuda")
        engine.generate(requests, key)
    """

    name = "torch"
    exact = False
    shares = True

    def __init__(self, *arguments, **settings) -> None:
        super().__init__(*arguments, **settings)
        self._held: weakref.WeakKeyDictionary[Outputs, _Held] = weakref.WeakKeyDictionary()

    def _prepare(self) -> None:
        super()._prepare()
        self._chosen = choose(self.kernel_wish, self.device, self.compute, sizes_of(self.model.config))
        self.network = Network(self.model, self.compute, vocab=self.vocab, kernels=self._chosen.kernels)
        self.shelf = Shelf(stays=self.caches_stay and self.device.type == "cuda")

    @property
    def kernels(self) -> str:
        return self._chosen.reason

    @property
    def place(self) -> str:
        return f"{super().place} triton" if self._chosen.fused else super().place

    def _refresh(self) -> None:
        self.network.refresh()

    def hand_out(self) -> None:
        self.network.hand_out()

    def checkpoints(self, tokens: int) -> bool:
        """Whether the backward pass of a chunk with so many tokens computes
        activations again instead of keeping them.
        """
        if self.checkpointing == "auto":
            about = {"itemsize": self.network.dtype.itemsize, "fused": self._chosen.fused}
            return tape_bytes(self.network.config, tokens, **about) > TAPE_BYTES
        return self.checkpointing == "on"

    def generate(
        self, requests: Sequence[Request], key: Key, *, done: Done | None = None, heard: Heard | None = None
    ) -> list[Generation]:
        limits = Limits(self.context, self.end_ids, self.memory_bytes, self.decode)
        about = {"limits": limits, "version": self.version, "kept": self.kept, "shelf": self.shelf}
        made, prefilled = sampler.generate(Alone(self.network), requests, key, done=done, heard=heard, **about)
        self.prefilled += prefilled
        return made

    def _score(self, layout: Layout, ids: np.ndarray, tau: Tensor, entropy: bool) -> tuple[Tensor, Tensor | None]:
        hidden, head = self.predicting(layout)
        out = self.network.kernels.read(hidden, head, torch.from_numpy(ids).to(self.device), tau, entropy=entropy)
        return out.logp, out.entropy

    def predicting(self, layout: Layout) -> tuple[Tensor, Tensor | None]:
        """The hidden states [M, D] that predict the response tokens, and the output layer's weight [V, D]."""
        packed = self._packed(layout)
        return self.network.forward(packed)[0].index_select(0, packed.predict), self.network.head

    def forward(self, chunk: Chunk, want: Want) -> Outputs:
        assert isinstance(chunk, LaidChunk)
        self._refuse_unknown(chunk, want)
        learns = torch.is_grad_enabled() and self.optimiser is not None
        predicting, kept = self.states(chunk, keep=learns)
        readout = self.network.kernels.read(
            predicting,
            self.network.head,
            chunk.streams["ids"],
            chunk.tau,
            entropy=want.entropy,
            top_ids=chunk.streams["top_ids"] if want.top_ids else None,
            mean_logp=want.mean_logp,
            likeliest=want.likeliest,
            keep=learns,
        )
        outputs = outputs_of(readout, learns=learns)
        if kept is not None:
            self._held[outputs] = _Held(kept, predicting, readout)
        return outputs

    def backward(self, chunk: Chunk, outputs: Outputs) -> None:
        assert isinstance(chunk, LaidChunk)
        held = self._held.pop(outputs, None)
        if held is None:
            raise UsageError("backward needs the outputs of a forward with gradients, once")
        coefficients = coefficients_of(outputs)
        if coefficients is None:
            return
        head = self.model.lm_head.weight
        by_hidden = self.network.kernels.pull(
            held.predicting,
            self.network.head,
            chunk.streams["ids"],
            chunk.tau,
            coefficients,
            gradient_of(head)[: self.vocab] if head.requires_grad else None,
            top_ids=chunk.streams.get("top_ids"),
            readout=held.readout,
        )
        self.pull_states(chunk, held.kept, by_hidden)

    def states(self, chunk: LaidChunk, *, keep: bool) -> tuple[Tensor, Activations | None]:
        packed = self._packed(chunk.layout)
        hidden, kept = self.network.forward(packed, keep=keep, again=self.checkpoints(len(packed.ids)))
        return hidden.index_select(0, packed.predict), kept

    def pull_states(self, chunk: LaidChunk, kept: Activations, grad: Tensor) -> None:
        whole = torch.zeros_like(kept.x).index_add_(0, kept.packed.predict, grad)
        self.network.backward(kept, whole)

    def _packed(self, layout: Layout) -> Packed:
        c = self.model.config
        return pack(layout, heads=c.heads, kv_heads=c.kv_heads, device=self.device, flash=self.network.flash)
