"""A parameter set that builds routes: it samples with masks, and learns by torch's autograd."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from assay.engine.choose import Choice, Wish
from assay.engine.head import NUMBERS, Coefficients, pull, read
from assay.engine.interface import Chunk, Done, Generation, Heard, Outputs, Want
from assay.engine.layout import Layout
from assay.engine.local import LaidChunk, LocalEngine
from assay.engine.pointer.routes import Instances, Routes, Steps, steps
from assay.engine.precision import Precision
from assay.engine.sampling_call import Limits, SamplingCall, check
from assay.errors import ConfigError, UsageError
from assay.policy.pointer import MASKED, Encoded, PointerNetwork
from assay.rng import Key
from assay.types import Ids, Request

ROWS = 1 << 14  # routes that are built at once


def engine_of(model: PointerNetwork, wish: Wish, device: str, precision: Precision) -> Choice:
    """The one engine that there is for this kind."""
    if wish == "native":
        raise ConfigError("machine.engine is native, and the core runs language models alone. Set it to auto.")
    if precision == "bf16":
        raise ConfigError("a pointer policy computes in fp32 or fp64. Set machine.precision to auto.")
    return Choice(PointerEngine, "")


@dataclass(frozen=True, eq=False, kw_only=True)
class RouteLayout(Layout):
    """Packed rows with the rows themselves, because a step of a route depends on all places before it."""

    contexts: Sequence[Ids]
    answers: Sequence[Ids]


class PointerEngine(LocalEngine):
    """A pointer policy with its optimiser.

    Example:
        engine = PointerEngine(policy.network, end_ids=policy.end_ids, decode=policy.codec.decode)
        engine.generate(requests, key)
    """

    name = "pointer"
    exact = False
    model: PointerNetwork

    def __init__(self, model: PointerNetwork, *, precision: Precision = "auto", **settings: Any) -> None:
        super().__init__(model, precision="fp32" if precision == "auto" else precision, **settings)
        # the logits of each forward pass, with their autograd graph, until `backward` takes them
        self._held: weakref.WeakKeyDictionary[Outputs, Tensor] = weakref.WeakKeyDictionary()

    def _prepare(self) -> None:
        self.model.eval()

    def _refresh(self) -> None:
        """Nothing to do: the network computes on the parameters themselves, not on a copy."""

    def hand_out(self) -> None:
        """Nothing to do: autograd has added the gradients to the parameters already."""

    # Sampling

    @torch.inference_mode()
    def generate(
        self, requests: Sequence[Request], key: Key, *, done: Done | None = None, heard: Heard | None = None
    ) -> list[Generation]:
        limits = Limits(self.context, self.end_ids, self.memory_bytes, self.decode)
        check(requests, limits)
        if not requests:
            return []
        flight = SamplingCall(requests, key, limits, self.version, self.vocab, self.wide, done, heard)
        flight.reserve(min(ROWS, len(requests)))
        for at in range(0, len(requests), ROWS):
            self._build(flight, np.arange(at, min(at + ROWS, len(requests))))
        return [flight.results[i] for i in range(len(requests))]

    def _build(self, flight: SamplingCall, rows: np.ndarray) -> None:
        """Builds the routes of these requests, in the slots from 0 on."""
        some = [flight.requests[i] for i in rows]
        instances = Instances.of([request.context for request in some])
        routes, seen = Routes.begun(instances), self._encoded(instances)
        for row, request in enumerate(some):
            for action in (int(token) for segment in request.prefix for token in segment.ids):
                routes.go(np.array([row]), np.array([action]))
        flight.begin(0, rows, np.array([len(request.context) + request.given for request in some]))
        self.prefilled += int(2 * instances.counts.sum())
        live = np.arange(len(rows))
        while len(live):
            logits = self._at(seen, routes.at(instances, live))
            over = flight.settle(live, logits)
            routes.go(live, flight.rows.token[live])
            live = np.setdiff1d(live, over)

    # Scoring and learning

    def forward(self, chunk: Chunk, want: Want) -> Outputs:
        assert isinstance(chunk, LaidChunk)
        self._refuse_unknown(chunk, want)
        if chunk.batch.blend_ids is not None:
            raise ConfigError("places of a route cannot be blended: take a recipe without a second token in its place.")
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
        leaves = (readout.logp, readout.entropy, readout.top_logp)
        if learns:
            leaves = tuple(None if x is None else x.requires_grad_(True) for x in leaves)
        logp, entropy, top_logp = leaves
        assert logp is not None
        numbers = {name: getattr(readout, name) for name in NUMBERS}
        outputs = Outputs(logp=logp, entropy=entropy, top_logp=top_logp, **numbers)
        if learns:
            self._held[outputs] = logits
        return outputs

    def backward(self, chunk: Chunk, outputs: Outputs) -> None:
        assert isinstance(chunk, LaidChunk)
        logits = self._held.pop(outputs, None)
        if logits is None:
            raise UsageError("backward needs the outputs of a forward with gradients, once")
        grads = [None if x is None else x.grad for x in (outputs.logp, outputs.entropy, outputs.top_logp)]
        if all(g is None for g in grads):
            return
        ids, top_ids = chunk.streams["ids"], chunk.streams.get("top_ids")
        by_logits = pull(logits.detach(), None, ids, chunk.tau, Coefficients(*grads), None, top_ids=top_ids)
        torch.autograd.backward(logits, by_logits)

    def _score(self, layout: Layout, ids: np.ndarray, tau: Tensor, entropy: bool) -> tuple[Tensor, Tensor | None]:
        logits, head = self.predicting(layout)
        out = read(logits, head, torch.from_numpy(ids).to(self.device), tau, entropy=entropy)
        return out.logp, out.entropy

    def predicting(self, layout: Layout) -> tuple[Tensor, Tensor | None]:
        """The logits [M, V] from which the response tokens were chosen."""
        assert isinstance(layout, RouteLayout)
        instances = Instances.of(layout.contexts)
        taken = steps(instances, layout.answers)
        return self._at(self._encoded(instances), taken), None

    # Parts

    def _encoded(self, instances: Instances) -> Encoded:
        points = torch.from_numpy(instances.points).to(device=self.device, dtype=self.wide)
        return self.model.encode(points, self._tensor(instances.counts))

    def _at(self, seen: Encoded, taken: Steps) -> Tensor:
        """[M, V]: every action that its instance has not is as illegal as one that was taken."""
        indices = [self._tensor(array) for array in (taken.which, taken.first, taken.last, taken.legal)]
        logits = self.model.logits(seen, *indices)
        return pad(logits, (0, self.vocab - logits.shape[1]), value=MASKED)

    def _lay(self, contexts: Sequence[Ids], responses: Sequence[Ids]) -> Layout:
        return RouteLayout(**vars(super()._lay(contexts, responses)), contexts=contexts, answers=responses)
