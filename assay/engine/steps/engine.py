"""A parameter set that reads observations: it chooses actions, and learns by torch's autograd. With a value head it is
a critic.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from assay.engine.choose import Choice, Wish
from assay.engine.cutting import tensors_of
from assay.engine.filtering import Drawn, draw
from assay.engine.interface import Chunk, Done, Generation, Heard, Outputs, Scores, Span, Want
from assay.engine.layout import Layout
from assay.engine.local import LocalEngine
from assay.engine.precision import Precision
from assay.engine.sampling_call import SamplingArrays
from assay.engine.spans import laid
from assay.engine.torch.value_engine import HEAD, with_value_head
from assay.errors import AssayError, ConfigError, DataError, UsageError
from assay.policy.acting import Acting
from assay.policy.network import Network
from assay.rng import Key
from assay.types import Batch, Request

LEAVES = ("logp", "entropy", "value")  # the outputs whose gradients `backward` takes
LEAST = 1 << 14  # steps of a chunk, whatever limit was set for tokens of a language model


def engine_of(model: Acting, wish: Wish, device: str, precision: Precision) -> Choice:
    """The one engine that there is for these kinds."""
    if wish == "native":
        raise ConfigError("machine.engine is native, and the core runs language models alone. Set it to auto.")
    if precision == "bf16":
        raise ConfigError("a policy over observations computes in fp32 or fp64. Set machine.precision to auto.")
    return Choice(StepsEngine, "")


@dataclass(frozen=True, eq=False)
class StepsChunk(Chunk):
    """A chunk with what was observed before each of its steps, and the temperature of each."""

    seen: Tensor  # [M, F]
    tau: Tensor


@dataclass(frozen=True, eq=False)
class Actions:
    """What was chosen where n observations were made."""

    ids: np.ndarray  # int32[n]
    old: np.ndarray  # float32[n] log-prob under the whole softmax at the temperature
    mu: np.ndarray  # float32[n] under the filtered distribution
    entropy: np.ndarray


class StepsEngine(LocalEngine):
    """A policy over observations with its optimiser.

    Example:
        engine = StepsEngine(policy.network, end_ids=policy.end_ids)
        engine.act(seen, requests, uniform)  # Actions
    """

    name = "steps"
    exact = False
    model: Acting

    def __init__(self, model: Network, *, precision: Precision = "auto", **settings: Any) -> None:
        super().__init__(model, precision="fp32" if precision == "auto" else precision, **settings)
        # the outputs of each forward pass, with their autograd graph, until `backward` takes them
        self._held: weakref.WeakKeyDictionary[Outputs, dict[str, Tensor]] = weakref.WeakKeyDictionary()

    @classmethod
    def critics(cls) -> type[LocalEngine]:
        return StepsValueEngine

    def _prepare(self) -> None:
        """Nothing to build: the network computes on the parameters themselves."""

    def _refresh(self) -> None:
        """Nothing to do: there is no copy of the weights."""

    def hand_out(self) -> None:
        """Nothing to do: autograd has added the gradients to the parameters already."""

    # Acting

    @torch.no_grad()
    def act(self, seen: np.ndarray, requests: Sequence[Request], uniform: np.ndarray) -> Actions:
        """An action for each observation, float32[n, F], at the temperature and with the filters of its request, drawn
        by its random number, float64[n].
        """
        logits = self.model.head(self.model.features(self._seen(seen)))
        about = SamplingArrays.of(requests, self.vocab).filters(np.arange(len(requests)), self.device, self.wide)
        drawn = draw(logits, self._tensor(uniform), about)
        _require_finite(drawn, requests)
        reals = (each.float().cpu().numpy() for each in (drawn.old, drawn.mu, drawn.entropy))
        return Actions(drawn.token.cpu().numpy().astype(np.int32), *reals)

    def generate(
        self, requests: Sequence[Request], key: Key, *, done: Done | None = None, heard: Heard | None = None
    ) -> list[Generation]:
        raise UsageError(
            "a policy over observations acts in a world of numbers and answers no prompts: give it a task such as "
            "env:CartPole-v1 or chain:5."
        )

    # Learning

    def chunks(self, batch: Batch, *, tokens: int) -> Iterator[StepsChunk]:  # type: ignore[override]
        """Rows in their order, of at most `tokens` steps together, or of LEAST: a step takes little memory."""
        most, first = max(tokens, LEAST), 0
        while first < len(batch):
            last = max(first + 1, int(np.searchsorted(batch.at, batch.at[first] + most, side="right")) - 1)
            yield self._chunk_of(batch, np.arange(first, min(last, len(batch))))
            first = last

    def _chunk_of(self, batch: Batch, rows: np.ndarray) -> StepsChunk:
        some = batch if len(rows) == len(batch) else batch.select(rows)
        return StepsChunk(
            batch=some,
            rows=rows,
            row=self._tensor(np.repeat(np.arange(len(rows)), some.lengths)),
            seen=self._seen(some.seen),
            tau=self._tau(some.temperature, some.lengths),
            **tensors_of(some, self._stream),
        )

    def forward(self, chunk: Chunk, want: Want) -> Outputs:
        assert isinstance(chunk, StepsChunk)
        self._refuse(want)
        learns = torch.is_grad_enabled() and self.optimiser is not None
        with torch.set_grad_enabled(learns):
            hidden = self.model.features(chunk.seen)
            found = self._values(hidden) if want.value else self._logps(hidden, chunk, want)
        if not learns:
            return Outputs(**found)
        leaves = {name: x.detach().requires_grad_(name in LEAVES) for name, x in found.items()}
        outputs = Outputs(**leaves)
        self._held[outputs] = {name: x for name, x in found.items() if name in LEAVES and x.requires_grad}
        return outputs

    def _logps(self, hidden: Tensor, chunk: StepsChunk, want: Want) -> dict[str, Tensor]:
        logp = torch.log_softmax(self.model.head(hidden) / chunk.tau[:, None], -1)
        found = {"logp": logp.gather(-1, chunk.streams["ids"][:, None]).squeeze(-1)}
        if want.entropy:
            found["entropy"] = -(logp.exp() * logp).sum(-1)
        if want.mean_logp:
            found["mean_logp"] = logp.mean(-1).detach()
        return found

    def _values(self, hidden: Tensor) -> dict[str, Tensor]:
        value = self.model.get_submodule(HEAD)(hidden).squeeze(-1)
        return {"logp": torch.zeros_like(value).detach(), "value": value}

    def _refuse(self, want: Want) -> None:
        """Refuses outputs that a few actions do not have."""
        if want.value:
            raise ConfigError("this parameter set has no value head")
        if want.top_ids or want.likeliest:
            raise ConfigError("a part asks for the likeliest tokens, and a policy over observations writes no tokens.")

    def backward(self, chunk: Chunk, outputs: Outputs) -> None:
        held = self._held.pop(outputs, None)
        if held is None:
            raise UsageError("backward needs the outputs of a forward with gradients, once")
        pairs = [(x, grad) for name, x in held.items() if (grad := getattr(outputs, name).grad) is not None]
        if pairs:
            torch.autograd.backward([x for x, _ in pairs], [grad for _, grad in pairs])

    # Scoring

    @torch.no_grad()
    def score(self, spans: Sequence[Span], *, entropy: bool = False) -> list[Scores]:
        found: list[Scores] = [Scores(np.zeros(0, np.float32))] * len(spans)
        for chunk in self.chunks(laid(spans), tokens=LEAST) if spans else ():
            out = self.forward(chunk, Want(entropy=entropy))
            for row, a, b in zip(chunk.rows, chunk.batch.at[:-1], chunk.batch.at[1:], strict=True):
                spread = None if out.entropy is None else out.entropy[a:b].float().cpu().numpy()
                found[row] = Scores(out.logp[a:b].float().cpu().numpy(), spread)
        return found

    def _score(self, layout: Layout, ids: np.ndarray, tau: Tensor, entropy: bool) -> tuple[Tensor, Tensor | None]:
        raise UsageError("a policy over observations has no layout of tokens: `score` reads what was seen")

    def _seen(self, seen: np.ndarray | None) -> Tensor:
        """The observations on the device. Rows without, or of another size, are of no world for this policy."""
        size = self.model.config.observed
        if seen is None or seen.ndim != 2 or seen.shape[1] != size:
            shape = "none" if seen is None else f"an array of the shape {seen.shape}"
            raise DataError(f"this policy observes {size} numbers before each step, and was given {shape}.")
        return self._tensor(seen).to(self.compute)


class StepsValueEngine(StepsEngine):
    """A critic over observations: V = w h + b in place of actions.

    Example:
        critic = StepsValueEngine(policy.network, end_ids=policy.end_ids)
        critic.forward(chunk, Want(value=True)).value  # [M]
    """

    def __init__(self, model: Network, **settings: Any) -> None:
        super().__init__(with_value_head(model), **settings)

    def _refuse(self, want: Want) -> None:
        if want != Want(value=True):
            raise UsageError(f"a parameter set with a value head gives values alone: ask Want(value=True), not {want}")


def _require_finite(drawn: Drawn, requests: Sequence[Request]) -> None:
    """Refuses actions of a policy that has lost its numbers."""
    sound = drawn.finite & drawn.old.isfinite()
    if not bool(sound.all()):
        place = int((~sound).nonzero()[0])
        raise AssayError(
            f"the policy gave logits that are not finite for request {requests[place].id}: its weights have most "
            "likely diverged; resume from an earlier checkpoint with a lower learning rate"
        )
