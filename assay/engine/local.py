"""The code that all engines of this machine share: weights and optimiser, scoring, chunks of a batch, saved state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import torch
from torch import Tensor

from assay.engine.cutting import cut, score_parts, tensors_of
from assay.engine.interface import Chunk, Done, Generation, Heard, Outputs, Scores, Span, Want, without_attention
from assay.engine.layout import Layout, lay
from assay.engine.optimiser import AdamW, Optimiser
from assay.engine.precision import Precision, choose, name_of
from assay.engine.prefix_cache import PrefixCache
from assay.engine.sampling_call import Decode
from assay.engine.state import FileState, below, disturb, read_all
from assay.engine.torch.kernels.interface import KernelWish
from assay.errors import ConfigError, DataError, StorageError, UsageError
from assay.policy.adapted import mergeable, own, stored, twin
from assay.policy.lora import WEIGHTS
from assay.policy.network import Network
from assay.rng import Key
from assay.types import Batch, Ids, Request, Stats

Checkpointing = Literal["auto", "on", "off"]
"""Whether the backward pass computes a layer's activations again instead of keeping them; `auto`: if they are large."""


@dataclass(frozen=True)
class Answered:
    """A ticket whose generations were written before it was given out."""

    generations: list[Generation]
    ready: bool = True

    def wait(self) -> list[Generation]:
        return self.generations


@dataclass(frozen=True, eq=False)
class LaidChunk(Chunk):
    """A chunk with its packed inputs, and the temperature of each response token."""

    layout: Layout
    tau: Tensor


class LocalEngine(ABC):
    """A policy with its optimiser; an engine without an optimiser is frozen. The base class of all engines here.

    The network computes in fp32, bf16 or fp64. Trained parameters and their gradients are kept in fp32 at least.

    `vocab` is the number of tokens that the tokenizer knows. Many models have more rows than that in their output
    layer. Those rows are no tokens, and no engine computes their logits: the sampler never draws them, so scoring and
    learning must leave them out of the softmax too.

    With `caches_stay`, the sampler's caches and recorded steps stay on a GPU while the learner computes.
    """

    name: str
    exact: bool
    merges = (
        False  # whether a learner merges its adapter into the weights that it sends here; a twin has the adapter too
    )
    has_threads = False  # whether the engine has threads of its own, beside torch's
    shares = False  # whether the tokens with which several prompts begin are run once for all of them
    reads_fp32 = False  # whether it reads all weights in fp32, and rounds the factors of products itself

    def __init__(
        self,
        model: Network,
        *,
        end_ids: frozenset[int],
        decode: Decode | None = None,
        vocab: int | None = None,
        device: str | torch.device = "cpu",
        precision: Precision = "auto",
        optimiser: AdamW | None = AdamW(),
        memory_bytes: int = 2 << 30,
        checkpointing: Checkpointing = "auto",
        caches_stay: bool = False,
        kernels: KernelWish = "auto",
    ) -> None:
        self.device = torch.device(device)
        self.compute, self.precision_reason = choose(precision, self.device)
        self.wide = torch.promote_types(self.compute, torch.float32)
        self.model: Any = self._placed(model)
        self.end_ids = end_ids
        self.decode = decode
        self.memory_bytes = memory_bytes
        self.checkpointing: Checkpointing = checkpointing
        self.caches_stay = caches_stay
        self.kernel_wish: KernelWish = kernels
        self.context = model.config.context
        self.vocab = min(model.config.vocab, vocab or model.config.vocab)
        self.version = 0
        self.prefilled = 0
        self.kept: PrefixCache[Any] = PrefixCache(0)
        self._start: dict[str, Tensor] | None = None
        self.model.requires_grad_(False)
        trained = own(self.model)
        for parameter in trained.values():
            parameter.requires_grad_(optimiser is not None)
        self.optimiser = None if optimiser is None else Optimiser(trained, optimiser)
        self._prepare()

    @classmethod
    def critics(cls) -> type[LocalEngine] | None:
        """The class of the critics beside a policy of its kind; None: `assay.engine.choose` says it."""
        return None

    # The methods that each engine implements

    @abstractmethod
    def generate(
        self, requests: Sequence[Request], key: Key, *, done: Done | None = None, heard: Heard | None = None
    ) -> list[Generation]:
        """As `Sampler.generate`; `heard` also hears each answer while it is written, which changes none of its bits."""

    @abstractmethod
    def forward(self, chunk: Chunk, want: Want) -> Outputs:
        """Per-token outputs. No activations are kept under `torch.no_grad`, or if the engine is frozen."""

    @abstractmethod
    def backward(self, chunk: Chunk, outputs: Outputs) -> None:
        """Take the gradients of the leaves of `outputs` through the network, and add to the parameters' gradients."""

    @abstractmethod
    def _score(self, layout: Layout, ids: np.ndarray, tau: Tensor, entropy: bool) -> tuple[Tensor, Tensor | None]:
        """Log-probs of the response `ids` [M], and entropies if asked for."""

    def predicting(self, layout: Layout) -> tuple[Tensor, Tensor | None]:
        """The numbers that predict the response tokens: hidden states [M, D] and the output layer's weight, or logits
        and None.
        """
        raise UsageError("the compiled core hands out no hidden states: read with torch, `--machine.engine torch`.")

    @abstractmethod
    def _prepare(self) -> None:
        """Build the network for the model; called once, when the model lies on its device."""

    @abstractmethod
    def _refresh(self) -> None:
        """Update the packed copies of the weights, after the weights have changed."""

    @abstractmethod
    def hand_out(self) -> None:
        """Turn the gradients of packed weights, which a step's chunks have gathered, into those of parameters."""

    # Sampling

    def submit(self, requests: Sequence[Request], key: Key, *, done: Done | None = None) -> Answered:
        return Answered(self.generate(requests, key, done=done))

    @contextmanager
    def keeping(self) -> Iterator[None]:
        """Inside the block, calls of `generate` share a prefix cache, which is emptied when the weights change.

        A prompt whose prefix an earlier call ran is continued from there. Tokens that the cache has no room for are run
        again.
        """
        outer = self.kept
        self.kept = outer if outer.most else PrefixCache(self._room_to_keep())
        try:
            yield
        finally:
            self.kept = outer

    def _room_to_keep(self) -> int:
        """The size of the prefix cache in tokens; 0 for an engine that has none and runs every prompt whole."""
        return 0

    def _changed(self) -> None:
        self.kept.clear()
        self._refresh()

    # Scoring

    @torch.inference_mode()
    def score(self, spans: Sequence[Span], *, entropy: bool = False) -> list[Scores]:
        """The log-probabilities of given continuations; a temperature of 0 is scored at 1, as in the sampler."""
        results: dict[int, Scores] = {}
        for part, layout, ids, at in self.laid(spans):
            tau = self._tau([spans[i].temperature for i in part], np.diff(at))
            out, spread = self._score(layout, ids, tau, entropy)
            logp = out.float().cpu().numpy()
            about = None if spread is None else spread.float().cpu().numpy()
            for j, i in enumerate(part):
                cut_ = slice(int(at[j]), int(at[j + 1]))
                results[i] = Scores(logp[cut_], None if about is None else about[cut_])
        return [results[i] for i in range(len(spans))]

    def influence(self, spans: Sequence[Span], ends: Sequence[Sequence[int]], *, gap: int) -> list[np.ndarray]:
        raise without_attention(self.name)

    def laid(self, spans: Sequence[Span]) -> Iterator[tuple[list[int], Layout, np.ndarray, np.ndarray]]:
        """The spans in parts that are read at once: their indices, their layout, their answers' tokens as int64[M], and
        where each span's tokens begin among these.
        """
        for part in score_parts(spans):
            some = [spans[i] for i in part]
            ids = np.concatenate([s.ids for s in some]).astype(np.int64)
            yield (
                part,
                self._lay([s.context for s in some], [s.ids for s in some]),
                ids,
                np.cumsum([0, *(len(s.ids) for s in some)]),
            )

    # Learning

    def chunks(self, batch: Batch, *, tokens: int) -> Iterator[LaidChunk]:
        """Chunks of at most `tokens` inputs (see `cut`)."""
        for rows in cut(batch, tokens=tokens, shares=self.shares):
            yield self._chunk(batch, rows)

    def _chunk(self, batch: Batch, rows: np.ndarray) -> LaidChunk:
        some = batch.select(rows)
        layout = self._lay(_split(some.context, some.context_at), _split(some.ids, some.at))
        if some.blend_ids is not None and some.blend_share is not None:
            layout = layout.blended(some.blend_ids, some.blend_share)
        return LaidChunk(
            batch=some,
            rows=rows,
            row=self._tensor(np.repeat(np.arange(len(rows)), some.lengths)),
            layout=layout,
            tau=self._tau(some.temperature, some.lengths),
            **tensors_of(some, self._stream),
        )

    @property
    def place(self) -> str:
        return f"{self.device} {self.name}"

    @property
    def kernels(self) -> str:
        """Whose kernels compute between the network's products, and why; "" for code that has no choice of them."""
        return ""

    @property
    def weights_file(self) -> str:
        return "model.safetensors" if self.model.lora is None else WEIGHTS

    def _refuse_unknown(self, chunk: Chunk, want: Want) -> None:
        if want.value:
            raise ConfigError("this parameter set has no value head")
        if want.likeliest > self.vocab:
            raise UsageError(
                f"the {want.likeliest} likeliest tokens were asked for, but the vocabulary has {self.vocab} tokens"
            )
        if want.top_ids and chunk.streams.get("top_ids") is None:
            raise UsageError("further log-probs were asked for, but the batch has no `top_ids`")

    def step(self, *, lr: float, clip: float | None, moments: str = "") -> Mapping[str, float]:
        """One optimiser step. A gradient that is not finite is dropped, and no parameter moves."""
        if self.optimiser is None:
            raise UsageError("a frozen parameter set takes no steps")
        self.hand_out()
        stats = self.optimiser.step(lr=lr, clip=clip, moments=moments)
        if not stats["skipped"]:
            self.version += 1
            self._changed()
        return stats

    # State

    def state(self) -> dict[str, Any]:
        """A copy of the state: `version`, `parameter/NAME` by the names in checkpoint files, and `optimiser/...`.

        With an adapter, the parameters are the adapter's alone, because the base never changes.
        """
        return {name: value.clone() if isinstance(value, Tensor) else value for name, value in self.view().items()}

    def view(self) -> dict[str, Any]:
        """The state as `state` gives it, but not copied: the next step changes these tensors."""
        result: dict[str, Any] = {"version": self.version}
        result |= {f"parameter/{name}": p.detach() for name, p in stored(self.model).items()}
        if self.optimiser is not None:
            result |= {f"optimiser/{name}": value for name, value in self.optimiser.view().items()}
        return result

    @torch.no_grad()
    def load(self, state: Mapping[str, Any]) -> None:
        """Load a state that `state` gave; the run goes on bit for bit as if it had never stopped."""
        for name, parameter in stored(self.model).items():
            value = state.get(f"parameter/{name}")
            if value is None or value.shape != parameter.shape:
                raise StorageError(f"the state has no fitting 'parameter/{name}'; is it of another model?")
            parameter.copy_(value)
        self.version = int(state["version"])
        if self.optimiser is not None:
            self.optimiser.load(below(state, "optimiser/"))
            self.optimiser.clear()
        self._changed()

    def stored(self, name: str) -> FileState:
        state = self.view()
        weights = {f"{name}/{self.weights_file}": below(state, "parameter/")}
        return FileState(weights | {f"optimiser/{name}.safetensors": below(state, "optimiser/")})

    def restore(self, folder: Path, name: str, version: int) -> None:
        weights = read_all(folder / name / self.weights_file)
        moments = read_all(folder / "optimiser" / f"{name}.safetensors")
        state = {f"parameter/{key}": value for key, value in weights.items()}
        self.load(state | {f"optimiser/{key}": value for key, value in moments.items()} | {"version": version})

    def take(self, other: Self, rate: float = 1.0) -> None:
        self._take({name: tensor.detach() for name, tensor in stored(other.model).items()}, rate)
        if rate == 1:
            self.version = other.version

    @torch.no_grad()
    def _take(self, weights: Mapping[str, Tensor], rate: float) -> None:
        for name, own_ in stored(self.model).items():
            own_.copy_(weights[name] if rate == 1 else own_ + rate * (weights[name] - own_))
        self.forget()
        self._changed()

    def measured(self) -> Stats:
        return {}

    def writers(self, requests: Sequence[str]) -> str:
        return ""

    def tensors(self, *, merged: bool = False) -> Iterator[tuple[str, Tensor]]:
        """The weights by their names in checkpoints, not copied: an adapter's own, or `merged` into its base, and then
        in fp32 at least, in which samplers keep them.
        """
        if not merged:
            yield from ((name, tensor.detach()) for name, tensor in stored(self.model).items())
            return
        for name, make in mergeable(self.model).items():
            tensor = make().detach()
            yield name, tensor.to(torch.promote_types(tensor.dtype, torch.float32))

    @contextmanager
    def disturbed(self) -> Iterator[None]:
        """Inside the block every tensor of the weights is changed, those below an adapter too."""
        weights = {name: tensor.detach() for name, tensor in self.model.tensors().items()}
        plain = {name: tensor.clone() for name, tensor in weights.items()}
        for name, tensor in weights.items():
            disturb(tensor, name)
        self._changed()
        try:
            yield
        finally:
            for name, tensor in weights.items():
                tensor.copy_(plain[name])
            self._changed()

    @torch.no_grad()
    def receive(self, weights: Iterable[tuple[str, Tensor]], version: int) -> None:
        """Takes the weights of another engine, by their names in checkpoints, one after the other."""
        missing = stored(self.model)
        for name, tensor in weights:
            missing.pop(name).copy_(tensor)
        if missing:
            raise StorageError(f"weights came without {', '.join(sorted(missing)[:3])}: they are of another model")
        self.version = version
        self._changed()

    def mark_start(self) -> None:
        self._start = {name: tensor.detach().clone() for name, tensor in stored(self.model).items()}

    def return_to_start(self) -> None:
        if self._start is None:
            raise UsageError("no start was kept: call `mark_start` before the first step")
        self._take(self._start, 1.0)

    def forget(self) -> None:
        if self.optimiser is not None:
            self.optimiser.load({})
            self.optimiser.clear()

    @property
    def precision(self) -> Precision:
        """The name of the compute format."""
        return name_of(self.compute)

    def copy(self) -> Self:
        """A frozen engine on a copy of the weights as they are now."""
        copied = type(self)(
            twin(self.model),
            end_ids=self.end_ids,
            decode=self.decode,
            vocab=self.vocab,
            device=self.device,
            precision=self.precision,
            optimiser=None,
            memory_bytes=self.memory_bytes,
            checkpointing=self.checkpointing,
            kernels=self.kernel_wish,
        )
        copied.version = self.version
        return copied

    # Parts

    def _placed(self, model: Network) -> Network:
        """The model on the device: trained parameters in fp32 at least, a frozen base in the format that is read."""
        if not model.base_names:
            return model.to(device=self.device, dtype=self.wide)
        model.to(device=self.device)
        for name, tensor in (*model.named_parameters(), *model.named_buffers()):
            if tensor.is_floating_point():
                frozen = name in model.base_names and not self.reads_fp32
                tensor.data = tensor.data.to(self.compute if frozen else self.wide)
        return model

    def _lay(self, contexts: Sequence[Ids], responses: Sequence[Ids]) -> Layout:
        longest = max((len(c) + len(r) for c, r in zip(contexts, responses)), default=0)
        if longest > self.context:
            raise DataError(f"a row of {longest} tokens exceeds the model's context of {self.context}")
        return lay(contexts, responses, shares=self.shares)

    def _tau(self, temperature: Sequence[float] | np.ndarray, lengths: np.ndarray) -> Tensor:
        tau = np.asarray(temperature, dtype=np.float64)
        tau = np.repeat(np.where(tau == 0, 1.0, tau), lengths)
        return torch.from_numpy(tau).to(device=self.device, dtype=self.wide)

    def _tensor(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)

    def _stream(self, array: np.ndarray) -> Tensor:
        tensor = self._tensor(array)
        return tensor.to(self.wide) if tensor.is_floating_point() else tensor


def _split(tokens: np.ndarray, at: np.ndarray) -> list[np.ndarray]:
    return [tokens[a:b] for a, b in zip(at[:-1], at[1:])]
