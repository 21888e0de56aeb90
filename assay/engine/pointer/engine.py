"""A parameter set that builds routes: it samples with masks, and learns by torch's autograd."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from assay.engine.autograd import AutogradEngine
from assay.engine.choose import Choice, Wish
from assay.engine.interface import Done, Generation, Heard
from assay.engine.layout import Layout
from assay.engine.pointer.routes import Instances, Routes, Steps, steps
from assay.engine.precision import Precision
from assay.engine.sampling_call import Limits, SamplingCall, check
from assay.errors import ConfigError
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


class PointerEngine(AutogradEngine):
    """A pointer policy with its optimiser.

    Example:
        engine = PointerEngine(policy.network, end_ids=policy.end_ids, decode=policy.codec.decode)
        engine.generate(requests, key)
    """

    name = "pointer"
    model: PointerNetwork

    def __init__(self, model: PointerNetwork, *, precision: Precision = "auto", **settings: Any) -> None:
        super().__init__(model, precision="fp32" if precision == "auto" else precision, **settings)

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
            routes.begin(row, [int(token) for segment in request.prefix for token in segment.ids])
        flight.begin(0, rows, np.array([len(request.context) + request.given for request in some]))
        self.prefilled += int(2 * instances.counts.sum())
        live = np.arange(len(rows))
        while len(live):
            logits = self._at(seen, routes.at(instances, live))
            over = flight.settle(live, logits)
            routes.go(live, flight.rows.token[live])
            live = np.setdiff1d(live, over)

    # Scoring and learning

    def predicting(self, layout: Layout) -> tuple[Tensor, None]:
        """The logits [M, V] from which the response tokens were chosen."""
        assert isinstance(layout, RouteLayout)
        if layout.blend_ids is not None:
            raise ConfigError("places of a route cannot be blended: take a recipe without a second token in its place.")
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
