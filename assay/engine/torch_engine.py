"""One parameter set in torch: sampler, learner and optimiser over one copy of the weights, on any torch device."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from assay.engine import sampler
from assay.engine.cutting import cut
from assay.engine.head import Coefficients, Readout, pull, read
from assay.engine.interface import Chunk, Generation, Outputs, Scores, Span, Want
from assay.engine.network import Kept, Network, gradient_of
from assay.engine.optimiser import AdamW, Optimiser
from assay.engine.packing import Packed, pack
from assay.engine.precision import Precision, choose
from assay.errors import ConfigError, DataError, StorageError, UsageError
from assay.policy.transformer import Transformer
from assay.rng import Key
from assay.types import Batch, Ids, Request

SCORE_TOKENS = 4096
STREAMS = ("ids", "mask", "counted", "advantage", "origin", "version", "old", "mu", "ref", "entropy", "value")
STREAMS += ("sampled", "reward", "target", "continues", "node", "top_ids", "legal", "cost")
INTEGER = ("ids", "top_ids", "version", "node")


@dataclass(frozen=True, eq=False)
class PackedChunk(Chunk):
    """A chunk with its packed inputs, the tokens' temperatures, and its rows' asked-for ids."""

    packed: Packed
    tau: Tensor


@dataclass(frozen=True, eq=False)
class _Held:
    """What `backward` needs of a `forward`: the network's tape and what the output layer read."""

    kept: Kept
    predicting: Tensor
    readout: Readout


class TorchEngine:
    """A policy, its optimiser (or none: frozen), and everything that is asked of it.

    Compute is in fp32, bf16 or fp64. In bf16 the parameters and their gradients stay in fp32 and the network runs on a
    bf16 copy, refreshed after each step.
    """

    exact = False

    def __init__(
        self,
        model: Transformer,
        *,
        end_ids: frozenset[int],
        decode: sampler.Decode | None = None,
        device: str | torch.device = "cpu",
        precision: Precision = "auto",
        optimiser: AdamW | None = AdamW(),
        memory_bytes: int = 2 << 30,
    ) -> None:
        self.device = torch.device(device)
        self.compute, self.precision_reason = choose(precision, self.device)
        self.wide = torch.promote_types(self.compute, torch.float32)
        self.model = model.to(device=self.device, dtype=self.wide)
        self.end_ids = end_ids
        self.decode = decode
        self.memory_bytes = memory_bytes
        self.context = model.config.context
        self.model.fit(self.context)  # one rope for every row, so that decoding, training and scoring agree
        self.version = 0
        self.model.requires_grad_(optimiser is not None)
        self.network = Network(self.model, self.compute)
        self.optimiser = None if optimiser is None else Optimiser(self.model, optimiser)
        self._held: weakref.WeakKeyDictionary[Outputs, _Held] = weakref.WeakKeyDictionary()

    # Sampling and scoring

    def generate(self, requests: Sequence[Request], key: Key) -> list[Generation]:
        limits = sampler.Limits(self.context, self.end_ids, self.memory_bytes, self.decode)
        return sampler.generate(self.network, requests, key, limits=limits, version=self.version)

    @torch.inference_mode()
    def score(self, spans: Sequence[Span], *, entropy: bool = False) -> list[Scores]:
        """Log-probs of given continuations; temperature 0 is scored at 1, as the sampler does."""
        results: dict[int, Scores] = {}
        for part in self._score_parts(spans):
            some = [spans[i] for i in part]
            packed = self._pack([s.context for s in some], [s.ids for s in some])
            hidden = self.network.forward(packed)[0].index_select(0, packed.predict)
            ids = torch.from_numpy(np.concatenate([s.ids for s in some]).astype(np.int64)).to(self.device)
            at = np.cumsum([0, *(len(s.ids) for s in some)])
            out = read(
                hidden, self.network.head, ids, self._tau([s.temperature for s in some], np.diff(at)), entropy=entropy
            )
            logp = out.logp.float().cpu().numpy()
            spread = None if out.entropy is None else out.entropy.float().cpu().numpy()
            for j, i in enumerate(part):
                cut_ = slice(int(at[j]), int(at[j + 1]))
                results[i] = Scores(logp[cut_], None if spread is None else spread[cut_])
        return [results[i] for i in range(len(spans))]

    def _score_parts(self, spans: Sequence[Span]) -> Iterator[list[int]]:
        """Spans of one context together, a few thousand tokens at a time."""
        order = sorted(range(len(spans)), key=lambda i: (spans[i].context.tobytes(), len(spans[i].ids)))
        part: list[int] = []
        used = 0
        for i in order:
            size = len(spans[i].ids)
            if not part or not np.array_equal(spans[part[-1]].context, spans[i].context):
                size += len(spans[i].context)
            if part and used + size > SCORE_TOKENS:
                yield part
                part, used = [], 0
            part.append(i)
            used += size
        if part:
            yield part

    # Learning

    def chunks(self, batch: Batch, *, tokens: int) -> Iterator[PackedChunk]:
        """Chunks of at most `tokens` inputs (see `cut`). Streams are tensors; `weights` are under `weights/NAME`."""
        for rows in cut(batch, tokens=tokens):
            some = batch.select(rows)
            contexts = _split(some.context, some.context_at)
            packed = self._pack(contexts, _split(some.ids, some.at))
            arrays = {name: getattr(some, name) for name in STREAMS}
            arrays |= {f"weights/{name}": value for name, value in some.weights.items()}
            yield PackedChunk(
                batch=some,
                rows=rows,
                row=self._tensor(np.repeat(np.arange(len(rows)), some.lengths)),
                streams={name: self._stream(name, value) for name, value in arrays.items() if value is not None},
                packed=packed,
                tau=self._tau(some.temperature, some.lengths),
            )

    def forward(self, chunk: Chunk, want: Want) -> Outputs:
        """Per-token outputs. Under `torch.no_grad`, or if the engine is frozen, nothing is kept for a backward pass."""
        assert isinstance(chunk, PackedChunk)
        if want.value:
            raise ConfigError("this parameter set has no value head")
        top_ids = chunk.streams.get("top_ids") if want.top_ids else None
        if want.top_ids and top_ids is None:
            raise UsageError("further log-probs were asked for, but the batch has no `top_ids`")
        learns = torch.is_grad_enabled() and self.optimiser is not None
        hidden, kept = self.network.forward(chunk.packed, keep=learns)
        predicting = hidden.index_select(0, chunk.packed.predict)
        readout = read(
            predicting,
            self.network.head,
            chunk.streams["ids"],
            chunk.tau,
            entropy=want.entropy,
            top_ids=top_ids,
            keep=learns,
        )
        leaves = (readout.logp, readout.entropy, readout.top_logp)
        if learns:
            leaves = tuple(None if x is None else x.requires_grad_(True) for x in leaves)
        logp, entropy, top_logp = leaves
        assert logp is not None
        outputs = Outputs(logp=logp, entropy=entropy, top_logp=top_logp)
        if kept is not None:
            self._held[outputs] = _Held(kept, predicting, readout)
        return outputs

    def backward(self, chunk: Chunk, outputs: Outputs) -> None:
        """Add the gradient that the leaves of `outputs` ask for to the parameters' gradients."""
        assert isinstance(chunk, PackedChunk)
        held = self._held.pop(outputs, None)
        if held is None:
            raise UsageError("backward needs the outputs of a forward with gradients, once")
        grads = [None if x is None else x.grad for x in (outputs.logp, outputs.entropy, outputs.top_logp)]
        if all(g is None for g in grads):
            return
        by_hidden = pull(
            held.predicting,
            self.network.head,
            chunk.streams["ids"],
            chunk.tau,
            Coefficients(*grads),
            gradient_of(self.model.lm_head.weight),
            top_ids=chunk.streams.get("top_ids"),
            all_logp=held.readout.all_logp,
        )
        whole = torch.zeros_like(held.kept.x).index_add_(0, chunk.packed.predict, by_hidden)
        self.network.backward(held.kept, whole)

    def step(self, *, lr: float, clip: float | None) -> Mapping[str, float]:
        """One optimiser step; a gradient that is not finite is dropped and nothing moves."""
        if self.optimiser is None:
            raise UsageError("a frozen parameter set takes no steps")
        self.network.hand_out()
        stats = self.optimiser.step(lr=lr, clip=clip)
        if not stats["skipped"]:
            self.version += 1
            self.network.refresh()
        return stats

    # State

    def state(self) -> dict[str, Any]:
        """`version`, `parameter/NAME` by Hugging Face name, `optimiser/...`: integers and tensors, copies."""
        result: dict[str, Any] = {"version": self.version}
        result |= {f"parameter/{name}": p.detach().clone() for name, p in self.model.named_parameters()}
        if self.optimiser is not None:
            result |= {f"optimiser/{name}": value for name, value in self.optimiser.state().items()}
        return result

    @torch.no_grad()
    def load(self, state: Mapping[str, Any]) -> None:
        """Take up a state; the run goes on bit for bit as if it had never stopped."""
        for name, parameter in self.model.named_parameters():
            value = state.get(f"parameter/{name}")
            if value is None or value.shape != parameter.shape:
                raise StorageError(f"the state has no fitting 'parameter/{name}'; is it of another model?")
            parameter.copy_(value)
        self.version = int(state["version"])
        if self.optimiser is not None:
            prefix = "optimiser/"
            self.optimiser.load({k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)})
            self.optimiser.clear()
        self.network.refresh()

    def copy(self) -> TorchEngine:
        """A frozen copy of the weights as they are now."""
        names = {torch.float32: "fp32", torch.bfloat16: "bf16", torch.float64: "fp64"}
        twin = TorchEngine(
            copy.deepcopy(self.model),
            end_ids=self.end_ids,
            decode=self.decode,
            device=self.device,
            precision=names[self.compute],  # type: ignore[arg-type]
            optimiser=None,
            memory_bytes=self.memory_bytes,
        )
        twin.version = self.version
        return twin

    # Parts

    def _pack(self, contexts: Sequence[Ids], responses: Sequence[Ids]) -> Packed:
        longest = max((len(c) + len(r) for c, r in zip(contexts, responses)), default=0)
        if longest > self.context:
            raise DataError(f"a row of {longest} tokens exceeds the model's context of {self.context}")
        c = self.model.config
        return pack(contexts, responses, heads=c.heads, kv_heads=c.kv_heads, device=self.device)

    def _tau(self, temperature: Sequence[float] | np.ndarray, lengths: np.ndarray) -> Tensor:
        tau = np.asarray(temperature, dtype=np.float64)
        tau = np.repeat(np.where(tau == 0, 1.0, tau), lengths)
        return torch.from_numpy(tau).to(device=self.device, dtype=self.wide)

    def _tensor(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)

    def _stream(self, name: str, array: np.ndarray) -> Tensor:
        tensor = self._tensor(array)
        if name in INTEGER:
            return tensor.long()
        return tensor.to(self.wide) if tensor.is_floating_point() else tensor


def _split(tokens: np.ndarray, at: np.ndarray) -> list[np.ndarray]:
    return [tokens[a:b] for a, b in zip(at[:-1], at[1:])]
