"""The core's gradients on trained models, against fp64, for every shape of network and every recipe's objective.

A model that has learnt something has sharp distributions, large activations and gradients that nearly cancel: rounding
shows there, and not in random weights.
"""

from __future__ import annotations

import copy
import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from assay import bases, session
from assay.augment import Sampling, ask
from assay.bases import imitation, small_shape
from assay.collect import generate
from assay.credit import pack
from assay.engine.local import LocalEngine
from assay.engine.native import build
from assay.engine.native.engine import NativeEngine
from assay.engine.torch_engine import TorchEngine
from assay.experiment import Evaluation, Experiment, Machine, Saving
from assay.memory import Memory
from assay.models import Models
from assay.objective import AGGREGATES, Objective
from assay.objective.improve import accumulate
from assay.part import bind
from assay.policy import Policy, PolicyConfig, character_tokenizer, fresh_policy, load_policy, save_policy
from assay.recipes import RECIPES
from assay.rng import Key
from assay.source import Pool, Share
from assay.tasks import ALPHABET
from assay.types import Batch, Row
from assay.verify import verify

POOL = Pool((Share("mod-chain-7", (2, 3)),))
MAX_NEW = 24
SMALL = small_shape(hidden=64, layers=2, heads=4, ffn=160, context=64)
SHAPES = {
    "llama": dataclasses.replace(SMALL, family="llama", attention_bias=False, kv_heads=2, tied=False),
    "qwen2": SMALL,
    "qwen3": dataclasses.replace(SMALL, family="qwen3", attention_bias=False, kv_heads=1, head_dim=32, qk_norm=True),
}
pytestmark = pytest.mark.deep


@pytest.fixture(scope="module", params=SHAPES)
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Policy:
    """A model of this shape that has imitated worked solutions until it is often right."""
    return imitator(SHAPES[request.param], tmp_path_factory.mktemp(request.param))


def imitator(shape: PolicyConfig, folder: Path) -> Policy:
    tokenizer = character_tokenizer(ALPHABET)
    start = fresh_policy(dataclasses.replace(shape, vocab=tokenizer.vocab), tokenizer, key=Key("trained"))
    save_policy(start, folder / "start")
    scale = dataclasses.replace(imitation(num_steps=200, learning_rate=3e-3), max_new=MAX_NEW)
    experiment = Experiment(
        recipe=dataclasses.replace(RECIPES["sft"], scale=scale),
        model=str(folder / "start"),
        pool=POOL,
        evaluation=Evaluation(every=0, final_problems=32, final_samples=4),
        machine=Machine(threads=1),
        saving=Saving(every=10**9, rollouts_every=0),
    )
    run = session.start(experiment, folder / "run", quiet=True)
    return load_policy(bases.locate(str(run)))


def engine_of(kind: type[LocalEngine], policy: Policy, precision: Any) -> LocalEngine:
    return kind(copy.deepcopy(policy.transformer), end_ids=policy.end_ids, precision=precision)


def batch_of(policy: Policy) -> Batch:
    """Answers of the model itself, judged, as off-policy and as far from a reference as training makes them."""
    engine = engine_of(TorchEngine, policy, "fp32")
    problems = [POOL.problem(Key(5)(i)) for i in range(24)]
    requests = ask(problems, Memory(0), first=0, samples=8, sampling=Sampling(MAX_NEW), codec=policy.tokenizer)
    episodes = generate(Models({"policy": engine}, {"policy": "policy"}), requests, Key(1), policy.tokenizer)
    right = [verdict.status == "ok" for verdict in verify(episodes)]
    assert 0.1 < np.mean(right) < 1, "the model is to be neither new nor perfect"
    noise = np.random.default_rng(0)
    rows = []
    for episode, correct in zip(episodes, right, strict=True):
        old = np.nan_to_num(episode.stream("old")).astype(np.float32)
        ref, off = (old + (size * noise.normal(size=len(old))).astype(np.float32) for size in (0.2, 0.05))
        advantage = np.full(len(old), float(correct) - np.mean(right), np.float32)
        row = Row(episode).mark(advantage=advantage, old=off, ref=ref, target=advantage, value=0 * advantage)
        rows.append(row.mark(weights={"gamma": np.full(len(old), 0.1, np.float32)}))  # of the shaped ratio
    return pack(rows)


def gradient(engine: LocalEngine, batch: Batch, objective: Objective) -> Tensor:
    weights = bind(AGGREGATES, objective.aggregate)(batch, max_new=MAX_NEW)
    engine.model.zero_grad()
    accumulate(engine, batch, weights, objective, 2048)
    engine.hand_out()
    return torch.cat([parameter.grad.double().flatten() for parameter in engine.model.parameters()])


def objectives() -> dict[str, Objective]:
    """Every objective of a recipe that trains a policy from per-token outputs alone, equal ones once."""
    found: dict[str, Objective] = {}
    for name, recipe in RECIPES.items():
        if recipe.mechanism.objective not in found.values():
            found[name] = recipe.mechanism.objective
    return found


def test_fp32_gradients_are_the_exact_ones(trained: Policy) -> None:
    batch = batch_of(trained)
    exact, ours = engine_of(TorchEngine, trained, "fp64"), engine_of(NativeEngine, trained, "fp32")
    for name, objective in objectives().items():
        want, got = gradient(exact, batch, objective), gradient(ours, batch, objective)
        assert want.norm() > 0, name
        assert (got - want).norm() <= 1e-5 * want.norm(), name


@pytest.mark.parametrize("variant", [v for v in build.runnable() if v.format == "bf16"], ids=lambda v: v.name)
def test_bf16_gradients_point_where_the_exact_ones_do(
    trained: Policy, variant: build.Variant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(build.CHOICE, variant.name)
    batch = batch_of(trained)
    exact, ours = engine_of(TorchEngine, trained, "fp64"), engine_of(NativeEngine, trained, "bf16")
    for name, objective in objectives().items():
        want, got = gradient(exact, batch, objective), gradient(ours, batch, objective)
        assert F.cosine_similarity(got, want, dim=0) >= 0.9995, name
        assert abs(got.norm() / want.norm() - 1) < 0.01, name
