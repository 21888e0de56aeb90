"""What must hold on a GPU as on a processor: log-probs, gradients, sampling, and a run that learns."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from assay.assemble import assemble
from assay.engine.interface import Generation, Span, Want
from assay.engine.optimiser import AdamW
from assay.engine.torch.engine import TorchEngine
from assay.known import RECIPES
from assay.loop import train
from assay.memory import Memory
from assay.models import Models
from assay.policy import character_tokenizer, fresh_policy
from assay.policy.config import PolicyConfig
from assay.policy.transformer import Transformer
from assay.reward.parts import Graded
from assay.rng import Key
from assay.source import Pool, Share
from assay.streams import Names
from assay.tasks import ALPHABET
from assay.types import Batch, Problem, Request, Stats
from bench.gpu_goals import AGREEMENT

LIMITS = {"fp32": 2e-3, "bf16": 0.25}  # nats by which log-probs of a token may differ from those in fp32 on a processor
MEAN = 1e-4  # nats by which sampler and learner may differ in fp32, in the mean
GRADIENT = {"fp32": 1e-3, "bf16": 0.1}  # of the gradient's norm
EQUAL = 0.95  # share of answers that must not depend on who is in flight
GAIN = 0.5  # nats a token that the short run must gain on worked solutions


@dataclass(frozen=True)
class Check:
    """A number, what it must not exceed (or reach), and whether it did."""

    name: str
    value: float
    bound: str
    passed: bool


def at_most(name: str, value: float, bound: float) -> Check:
    return Check(name, value, f"<= {bound:g}", bool(value <= bound))


def at_least(name: str, value: float, bound: float) -> Check:
    return Check(name, value, f">= {bound:g}", bool(value >= bound))


def qwen(
    hidden: int, layers: int, heads: int, kv_heads: int, ffn: int, vocab: int, context: int = 2048
) -> PolicyConfig:
    return PolicyConfig(
        family="qwen2",
        vocab=vocab,
        hidden=hidden,
        layers=layers,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=hidden // heads,
        ffn=ffn,
        context=context,
        attention_bias=True,
    )


def requests_of(shape: PolicyConfig, *, groups: int, samples: int, prompt: int, max_new: int) -> list[Request]:
    """Random prompts; of each group the same."""
    random = np.random.default_rng(0)
    found = []
    for g in range(groups):
        context = random.integers(1, shape.vocab, prompt).astype(np.int32)
        problem = Problem("none", str(g), {}, str(g))
        found += [Request(problem, context, str(g), max_new, draw=g, sample=s) for s in range(samples)]
    return found


def batch_of(requests: Sequence[Request], made: Sequence[Generation]) -> Batch:
    """Everything that was written, with advantages of both signs."""
    ids = [one.segment.ids for one in made]
    at = np.cumsum([0, *map(len, ids)])
    every = np.ones(at[-1], bool)
    signs = np.where(np.arange(len(ids)) % 2, 1.0, -1.0).astype(np.float32)
    old = [one.segment.old for one in made if one.segment.old is not None]
    return Batch(
        context=np.concatenate([r.context for r in requests]),
        context_at=np.cumsum([0, *(len(r.context) for r in requests)]),
        ids=np.concatenate(ids),
        at=at,
        mask=every,
        counted=every,
        counted_rows=np.ones(len(ids), bool),
        advantage=np.repeat(signs, np.diff(at)),
        origin=np.zeros(at[-1], np.int8),
        temperature=np.ones(len(ids), np.float32),
        problem=Names.of(r.problem.id for r in requests),
        request=Names.of(r.id for r in requests),
        group=Names.of(r.group for r in requests),
        old=np.concatenate(old),
        sampled=np.concatenate(old),
    )


def gradient(engine: TorchEngine, batch: Batch, *, tokens: int) -> np.ndarray:
    """Of the mean log-prob times advantage, gathered over chunks."""
    assert engine.optimiser is not None
    for chunk in engine.chunks(batch, tokens=tokens):
        out = engine.forward(chunk, Want())
        (out.logp * chunk.streams["advantage"]).sum().div(len(batch.ids)).backward()
        engine.backward(chunk, out)
    engine.hand_out()
    found = engine.optimiser.gradient.detach().double().cpu().numpy().copy()
    engine.optimiser.clear()
    return found


def parity(device: str, *, shape: PolicyConfig, groups: int, samples: int, max_new: int) -> Iterator[Check]:
    """The same weights on both sides: scores and gradients of the same answers, in fp32 and in bf16."""
    model = Transformer(shape).initialise(torch.Generator().manual_seed(0))
    settings: dict[str, Any] = {"end_ids": frozenset({0}), "optimiser": AdamW()}
    here = TorchEngine(copy.deepcopy(model), precision="fp32", **settings)
    requests = requests_of(shape, groups=groups, samples=samples, prompt=12, max_new=max_new)
    made = here.generate(requests, Key(1))
    batch = batch_of(requests, made)
    spans = [Span(r.context, one.segment.ids) for r, one in zip(requests, made, strict=True)]
    logp, slope = scores(here, spans), gradient(here, batch, tokens=512)
    for precision in ("fp32", "bf16"):
        there = TorchEngine(copy.deepcopy(model), precision=precision, device=device, **settings)
        gap = float(np.abs(scores(there, spans) - logp).max())
        yield at_most(f"log-probs, {precision}: greatest difference", gap, LIMITS[precision])
        other = gradient(there, batch, tokens=512)
        off = float(np.linalg.norm(other - slope) / np.linalg.norm(slope))
        yield at_most(f"gradient, {precision}: relative difference", off, GRADIENT[precision])
        if precision == "fp32":
            yield _cutting(there, batch, other)
            yield from _sampling(there, requests)


def scores(engine: TorchEngine, spans: Sequence[Span]) -> np.ndarray:
    return np.concatenate([one.logp for one in engine.score(spans)])


def _cutting(engine: TorchEngine, batch: Batch, whole: np.ndarray) -> Check:
    parts = gradient(engine, batch, tokens=len(batch.ids) // 4)
    return at_most("gradient, many chunks or few", float(np.linalg.norm(parts - whole) / np.linalg.norm(whole)), 1e-4)


def _sampling(engine: TorchEngine, requests: Sequence[Request]) -> list[Check]:
    """Answers depend neither on who is in flight nor on their order; the sampler's log-probs are the learner's."""
    made = engine.generate(requests, Key(2))
    wide = engine.memory_bytes
    engine.memory_bytes = 1  # one row at a time
    few = engine.generate(requests, Key(2))
    engine.memory_bytes = wide
    turned = engine.generate(list(reversed(requests)), Key(2))[::-1]
    checks = []
    for name, others in (("one at a time", few), ("in another order", turned)):
        equal = [np.array_equal(a.segment.ids, b.segment.ids) for a, b in zip(made, others, strict=True)]
        checks.append(at_least(f"answers equal {name}", float(np.mean(equal)), EQUAL))
    learner = scores(engine, [Span(r.context, one.segment.ids) for r, one in zip(requests, made, strict=True)])
    sampler = np.concatenate([one.segment.old for one in made if one.segment.old is not None])
    apart = np.abs(learner.astype(np.float64) - sampler)
    checks.append(at_most("sampler against learner, log-probs", float(apart.max()), LIMITS["fp32"]))
    return [*checks, at_most(AGREEMENT, float(apart.mean()), MEAN)]


class _Watch:
    """A recorder that keeps what each step measured."""

    def __init__(self) -> None:
        self.stats: list[Stats] = []

    def started(self, memory: Memory, models: Models) -> None: ...
    def phase(self, name: str) -> None: ...
    def step(self, memory, models, episodes, rows, batches, stats) -> None:
        self.stats.append(stats)


def training(device: str, *, hidden: int, imitate: int, reinforce: int, prompts: int) -> list[Check]:
    """A small model imitates worked solutions, then takes steps of a group method, through the loop of every run."""
    tokenizer, pool = character_tokenizer(ALPHABET), Pool((Share("countdown", (3,)),))
    shape = dataclasses.replace(qwen(hidden, 2, 4, 4, 3 * hidden, tokenizer.vocab), context=96)
    policy = fresh_policy(shape, tokenizer, key=Key("gpu"))
    settings: dict[str, Any] = {"end_ids": policy.end_ids, "decode": tokenizer.decode, "device": device}
    engine = TorchEngine(policy.network, optimiser=AdamW(), precision="auto", **settings)
    solved = [pool.problem(Key("solved", i)) for i in range(64)]
    spans = [Span(tokenizer.render(p.prompt), tokenizer.encode(p.solution or "")) for p in solved]
    before = float(scores(engine, spans).mean())
    _phase(engine, "sft", pool, tokenizer, steps=imitate, prompts=prompts, rate=3e-3)
    gained = float(scores(engine, spans).mean()) - before
    stats = _phase(engine, "dr-grpo", pool, tokenizer, steps=reinforce, prompts=max(2, prompts // 8), rate=1e-4)
    mismatch = max((s.get("policy/sampler_mismatch", 0.0) for s in stats), default=0.0)
    updates = sum(s.get("update/steps", 0.0) for s in stats)
    return [
        at_least(f"gain of {imitate} steps of imitation, nats a token", gained, GAIN),
        at_least(f"updates in {reinforce} steps of dr-grpo", updates, 1),
        at_most(
            f"updates skipped in {reinforce} steps of dr-grpo", sum(s.get("update/skipped", 0.0) for s in stats), 0
        ),
        at_most("sampler against learner while training, mean", mismatch, 0.02),
    ]


def _phase(
    engine: TorchEngine, name: str, pool: Pool, codec: Any, *, steps: int, prompts: int, rate: float
) -> list[Stats]:
    recipe, watch = RECIPES[name], _Watch()
    changes = {"num_prompts": prompts, "group_size": 1 if name == "sft" else 8, "max_new": 32, "num_steps": steps}
    scale = dataclasses.replace(recipe.scale, learning_rate=rate, num_minibatches=1, oversample=1, **changes)
    graded = dataclasses.replace(recipe.mechanism, reward=(Graded(),))  # cut and wrong answers differ: groups vary
    recipe = dataclasses.replace(recipe, scale=scale, mechanism=graded)
    models = Models({"policy": engine}, recipe.roles, recipe.models)
    train(assemble(recipe, pool=pool, codec=codec, micro_tokens=4096), models, Memory(0), watch)
    return watch.stats
