"""Small models, requests and batches for the tests of the engine, and the slow, obvious way to score a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from missing_core import need
from rounding import Exact
from torch import Tensor
from typed import present

from assay.engine import footprint
from assay.engine.interface import Generation, Span, Want
from assay.engine.local import LocalEngine
from assay.engine.native.engine import NativeEngine
from assay.engine.optimiser import AdamW
from assay.engine.torch.engine import TorchEngine
from assay.engine.transformers import sampler as adapter_sampler
from assay.engine.transformers.engine import AdapterEngine
from assay.policy.config import PolicyConfig
from assay.policy.foreign import Foreign
from assay.policy.hf_config import config_to_hf
from assay.policy.transformer import Transformer
from assay.streams import Names
from assay.types import Batch, Problem, Request

SMALL = {
    "vocab": 13,
    "hidden": 16,
    "layers": 2,
    "heads": 4,
    "kv_heads": 4,
    "head_dim": 4,
    "ffn": 24,
    "context": 256,
    "init_std": 0.4,
}
FAMILIES = {
    "qwen2": {"family": "qwen2", "attention_bias": True},
    "grouped": {"family": "qwen2", "attention_bias": True, "kv_heads": 2},
    "llama": {"family": "llama", "kv_heads": 1, "tied": False},
    "biased": {"family": "llama", "attention_bias": True, "output_bias": True, "mlp_bias": True},
    "qwen3": {"family": "qwen3", "qk_norm": True, "kv_heads": 2, "head_dim": 8},
}


def model_of(family: str = "qwen2", *, seed: int = 0, **changes: Any) -> Transformer:
    values = {**SMALL, **FAMILIES[family], **changes}
    model = Transformer(PolicyConfig(**values)).initialise(torch.Generator().manual_seed(seed))
    generator = torch.Generator().manual_seed(seed + 1)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.ndim == 1:  # norms and biases away from their neutral start, so that a slip in them shows
                noise = torch.randn(parameter.shape, generator=generator)
                parameter.copy_((1 + 0.2 * noise) if "norm" in name else 0.2 * noise)
    return model


def foreign_of(model: Transformer) -> Foreign:
    """The same weights in the network that `transformers` has for this family."""
    from transformers import AutoConfig, AutoModelForCausalLM

    raw = config_to_hf(model.config)
    inner = AutoModelForCausalLM.from_config(AutoConfig.for_model(**raw), dtype=torch.float32)
    inner.load_state_dict({**inner.state_dict(), **model.state_dict()})
    return Foreign(inner.eval(), raw)


class Default:
    """The kind of engine that `engine_of` makes; the fixture `kind` sets it."""

    kind = "torch"


def engine_of(family: str = "qwen2", *, precision: str = "fp32", end: int | None = 0, **changes: Any) -> LocalEngine:
    """An engine of the default kind. `native` among precisions is the core in fp32; `tokens` are those of the rows of
    the output layer that the tokenizer knows.
    """
    options: dict[str, Any] = {k: changes.pop(k) for k in ("decode", "memory_bytes", "optimiser") if k in changes}
    options |= {"optimiser": options.get("optimiser", AdamW()), "vocab": changes.pop("tokens", None)}
    native = precision == "native" or (Default.kind == "native" and precision != "bf16")
    options["precision"] = "fp32" if native else precision
    ends = frozenset() if end is None else frozenset({end})
    if Default.kind == "adapter" and precision != "native":
        foreign = foreign_of(model_of(family, **changes))
        return AdapterEngine(foreign, end_ids=ends, **options)
    if native:
        need()
    engine = NativeEngine if native else TorchEngine
    return engine(model_of(family, **changes), end_ids=ends, **options)


def row_bytes(engine: LocalEngine, length: int) -> int:
    """Bytes of keys and values of a row of this length."""
    if isinstance(engine, AdapterEngine):
        return adapter_sampler.row_bytes(engine, length)
    return footprint.row_bytes(engine.model.config, length, engine.compute.itemsize)


def embedding_of(engine: LocalEngine) -> Tensor:
    foreign = isinstance(engine.model, Foreign)
    return (engine.model.inner.get_input_embeddings() if foreign else engine.model.model.embed_tokens).weight


def problem_of(name: object) -> Problem:
    return Problem("test", str(name), {}, str(name))


def contexts_of(count: int, *, vocab: int = 13, seed: int = 0, low: int = 1, high: int = 7) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    return [random.integers(1, vocab, random.integers(low, high)).astype(np.int32) for _ in range(count)]


def requests_of(groups: int = 3, samples: int = 4, *, max_new: int = 9, **changes: Any) -> list[Request]:
    return [
        Request(problem_of(g), context, str(g), max_new, sample=s, **changes)
        for g, context in enumerate(contexts_of(groups))
        for s in range(samples)
    ]


def naive_logits(model: Transformer | Foreign, tokens: np.ndarray) -> Tensor:
    """Logits [T, V] of one row alone, with dense causal attention written out head by head."""
    ids = torch.from_numpy(tokens.astype(np.int64))
    if isinstance(model, Foreign):
        return model.inner(ids[None], use_cache=False).logits[0]
    count = len(ids)
    future = torch.triu(torch.ones(count, count, dtype=torch.bool), 1)

    def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        share = q.shape[1] // k.shape[1]
        heads = []
        for h in range(q.shape[1]):
            scores = q[:, h] @ k[:, h // share].T / q.shape[2] ** 0.5
            weights = torch.softmax(scores.masked_fill(future, -torch.inf), -1)
            heads.append(weights @ v[:, h // share])
        return torch.stack(heads, 1)

    return model.logits(model(ids, torch.arange(count), attend))


def naive_log_probs(model: Transformer | Foreign, context: np.ndarray, ids: np.ndarray, tau: float = 1.0) -> Tensor:
    """All log-probs [T, V] at the positions that predict `ids`."""
    logits = naive_logits(model, np.concatenate([context, ids]))[len(context) - 1 : -1]
    return torch.log_softmax(logits / tau, -1)


def batch_of(
    contexts: list[np.ndarray], answers: list[np.ndarray], *, temperature: float = 1.0, **changes: Any
) -> Batch:
    rows, tokens = len(answers), sum(map(len, answers))
    random = np.random.default_rng(5)
    values = {
        "context": np.concatenate(contexts),
        "context_at": np.cumsum([0, *map(len, contexts)]),
        "ids": np.concatenate(answers),
        "at": np.cumsum([0, *map(len, answers)]),
        "mask": np.ones(tokens, bool),
        "counted": np.ones(tokens, bool),
        "counted_rows": np.ones(rows, bool),
        "advantage": random.normal(size=tokens).astype(np.float32),
        "origin": np.zeros(tokens, np.int8),
        "temperature": np.full(rows, temperature, np.float32),
        "problem": Names.of(str(i) for i in range(rows)),
        "request": Names.of(str(i) for i in range(rows)),
        "group": Names.of(str(i) for i in range(rows)),
    }
    return Batch(**{**values, **changes})


def rows_of(
    lengths: list[int], *, groups: int = 2, vocab: int = 13, seed: int = 3
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Contexts that rows share in turn, and random answers of these lengths."""
    random = np.random.default_rng(seed)
    prompts = contexts_of(groups, vocab=vocab, seed=seed, low=2, high=9)
    answers = [random.integers(0, vocab, n).astype(np.int32) for n in lengths]
    return [prompts[i % groups] for i in range(len(lengths))], answers


def learn(engine: LocalEngine, batch: Batch, *, tokens: int = 10_000, spread: float = 0.3) -> dict[str, Tensor]:
    """Gradients by name of sum(advantage * logp + spread * advantage^2 * entropy)."""
    for chunk in engine.chunks(batch, tokens=tokens):
        out = engine.forward(chunk, Want(entropy=spread != 0))
        a = chunk.streams["advantage"]
        loss = (a * out.logp).sum()
        if out.entropy is not None:
            loss = loss + spread * (a.square() * out.entropy).sum()
        loss.backward()
        engine.backward(chunk, out)
    return collected(engine)


def collected(engine: LocalEngine) -> dict[str, Tensor]:
    engine.hand_out()
    grads = {name: p.grad.clone() for name, p in engine.model.named_parameters() if p.grad is not None}
    engine.model.zero_grad()
    return grads


def exact_scores(model: Transformer | Foreign, spans: Sequence[Span]) -> Exact:
    """`logp` and `entropy` of the tokens of these spans, end to end."""

    def compute(model: Transformer | Foreign) -> dict[str, Tensor]:
        every = [naive_log_probs(model, span.context, span.ids, span.temperature) for span in spans]
        picked = [torch.from_numpy(span.ids.astype(np.int64)) for span in spans]
        return {
            "logp": torch.cat([lp.gather(-1, ids[:, None])[:, 0] for lp, ids in zip(every, picked, strict=True)]),
            "entropy": torch.cat([-(lp.exp() * lp).sum(-1) for lp in every]),
        }

    return Exact(model, compute, tokens=max(len(span.context) + len(span.ids) for span in spans))


def spans_of(requests: Sequence[Request], made: Sequence[Generation]) -> list[Span]:
    """What was written, as something to score."""
    return [
        Span(np.concatenate([r.context, *(s.ids for s in r.prefix)]), g.segment.ids, r.temperature or 1.0)
        for r, g in zip(requests, made, strict=True)
    ]


def require_sampled(engine: LocalEngine, requests: Sequence[Request], made: Sequence[Generation]) -> Exact:
    """That `old` and `entropy` of what was sampled are those of the network, but for rounding."""
    exact = exact_scores(engine.model, spans_of(requests, made))
    exact.require(
        logp=np.concatenate([present(g.segment.old) for g in made]),
        entropy=np.concatenate([present(g.segment.entropy) for g in made]),
    )
    return exact


def naive(engine: LocalEngine, batch: Batch, *, spread: float = 0.3) -> Exact:
    """The same from autograd in fp64 over one row at a time."""
    return Exact(engine.model, lambda model: naive_of(model, batch, spread=spread), tokens=tokens_of(batch))


def tokens_of(batch: Batch) -> int:
    return len(batch.ids) + len(batch.context)


def naive_of(model: Transformer | Foreign, batch: Batch, *, spread: float = 0.3) -> dict[str, Tensor]:
    model.zero_grad()
    for b in range(len(batch)):
        context = batch.context[batch.context_at[b] : batch.context_at[b + 1]]
        cut_ = slice(batch.at[b], batch.at[b + 1])
        ids = batch.ids[cut_]
        if len(ids) == 0:
            continue
        a = torch.from_numpy(batch.advantage[cut_].astype(np.float64))
        lp = naive_log_probs(model, context, ids, float(batch.temperature[b]))
        logp = lp[torch.arange(len(ids)), torch.from_numpy(ids.astype(np.int64))]
        entropy = -(lp.exp() * lp).sum(-1)
        ((a * logp).sum() + spread * (a.square() * entropy).sum()).backward()
    return {name: p.grad for name, p in model.named_parameters() if p.grad is not None}


def assert_same(got: dict[str, Tensor], want: Exact) -> None:
    """Within the rounding of the format that the gradients are in."""
    assert got.keys() == want.values.keys()
    for name, value in got.items():
        exact = value.dtype == torch.float64 and Default.kind != "adapter"  # its norms and angles are in fp32
        want.require_all({name: value}, format="fp64" if exact else "fp32")
