"""The engine for any causal language model of `transformers`: that library's network and torch's autograd.

It is slower than the engines for our own network, for three reasons: rows are padded, a context that several rows share
is run again for each row, and the logits of a whole chunk exist at once.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import torch
from torch import Tensor

from assay.engine.autograd import AutogradEngine
from assay.engine.embedding import embedded
from assay.engine.interface import Done, Generation, Heard
from assay.engine.layout import Layout
from assay.engine.local import LaidChunk
from assay.engine.sampling_call import Limits
from assay.engine.transformers.padded import cut_rectangles, pad
from assay.engine.transformers.sampler import generate
from assay.errors import ConfigError, DataError
from assay.rng import Key
from assay.types import Batch, Request


class AdapterEngine(AutogradEngine):
    """A parameter set whose network belongs to `transformers`.

    Dropout is off in training too; with dropout, the ratio of a policy to itself would not be 1.

    Example:
        engine = AdapterEngine(policy.network, end_ids=policy.end_ids)
        engine.generate(requests, key)
    """

    name = "transformers"

    def _prepare(self) -> None:
        if self.checkpointing == "on":
            raise ConfigError(
                "machine.checkpointing is on, but this model runs through transformers, whose activations are always "
                "kept for the backward pass. Set machine.checkpointing to auto."
            )
        super()._prepare()
        self.takes = frozenset(inspect.signature(self.model.inner.forward).parameters)

    def run(self, ids: Tensor | None, mask: Tensor, positions: Tensor, **more: Any) -> Any:
        """The network's output, in the compute format. Arguments that the network does not take are left out."""
        given = {"attention_mask": mask, "position_ids": positions, **more}
        given = {name: value for name, value in given.items() if name in self.takes}
        with self._format():
            return self.model.inner(input_ids=ids, **given)

    def generate(
        self, requests: Sequence[Request], key: Key, *, done: Done | None = None, heard: Heard | None = None
    ) -> list[Generation]:
        limits = Limits(self.context, self.end_ids, self.memory_bytes, self.decode)
        return generate(self, requests, key, limits=limits, done=done, heard=heard)

    def chunks(self, batch: Batch, *, tokens: int) -> Iterator[LaidChunk]:
        for rows in cut_rectangles(batch, tokens=tokens):
            yield self._chunk(batch, rows)

    def predicting(self, layout: Layout) -> tuple[Tensor, None]:
        """The logits [M, V] that predict the response tokens, which have passed the output layer already."""
        return self._logits(layout), None

    def _logits(self, layout: Layout) -> Tensor:
        """The logits [M, V] that predict the response tokens, without rows of the output layer that are no tokens."""
        padded = pad(layout, device=self.device)
        ids, read = padded.ids, {}
        if padded.blend_ids is not None and padded.blend_share is not None:
            ids, read = None, {"inputs_embeds": self._blended(padded.ids, padded.blend_ids, padded.blend_share)}
        elif self.model.pictures is not None:
            ids, read = None, {"inputs_embeds": self.seen(padded.ids, padded.mask)}
        logits = self.run(ids, padded.mask, padded.positions, use_cache=False, **read).logits
        return logits[..., : self.vocab].flatten(0, 1).index_select(0, padded.predict)

    def seen(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Embeddings [B, T, D] of ids, among which those of pictures are looked up and encoded, each picture once."""
        read = self.model.inner.get_input_embeddings()(ids.clamp(min=0))
        shown = (ids < 0) & (mask > 0)
        tokens, count = ids[shown].cpu().numpy().astype(np.int32), self.model.pictures.count
        if not len(tokens):
            return read
        if len(tokens) % count:
            raise DataError(f"a context holds a part of a picture: the {count} tokens of a picture stay together.")
        names = tokens.reshape(-1, count)
        different, which = np.unique(names, axis=0, return_inverse=True)
        pixels = torch.from_numpy(np.stack([self.model.pictures.pixels(name) for name in different])).to(self.device)
        with self._format():
            features = self.model.see(pixels.to(read.dtype))
        return read.masked_scatter(shown.unsqueeze(-1), features[torch.from_numpy(which.reshape(-1))].to(read.dtype))

    @torch.no_grad()
    def _blended(self, ids: Tensor, others: Tensor, share: Tensor) -> Tensor:
        """Embeddings [B, T, D] that are given: nothing goes back into them."""
        if self.model.pictures is not None:
            raise ConfigError(f"{self.model.config.family} sees pictures: its tokens cannot be blended with others.")
        if "inputs_embeds" not in self.takes:
            raise ConfigError(f"{self.model.config.family} reads ids alone: no token can be blended with another.")
        return embedded(ids, self.model.inner.get_input_embeddings(), others, share)

    def _format(self) -> AbstractContextManager[Any]:
        lower = self.compute == torch.bfloat16
        return torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=lower)
