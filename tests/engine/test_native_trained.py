"""The core's gradients on trained models, against fp64, for every shape of network and every recipe's objective.

A model that has learnt something has sharp distributions, large activations and gradients that nearly cancel: rounding
shows there, and not in random weights.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from missing_core import variants
from of_methods import said
from rounding import distance, jostled
from tiny import loss_and_gradient, recipe_of
from torch import Tensor
from torch.nn import functional as F

from assay.ask import Sampling, first_requests
from assay.collect import generate
from assay.engine.local import LocalEngine
from assay.engine.native import build
from assay.engine.native.engine import NativeEngine
from assay.engine.torch.engine import TorchEngine
from assay.known import RECIPES
from assay.memory import Memory
from assay.models import Models
from assay.objective import Objective
from assay.policy import Policy, PolicyConfig, character_tokenizer, fresh_policy, load_policy, save_policy
from assay.rng import Key
from assay.run import session
from assay.run.bases import imitation, small_shape
from assay.run.experiment import Evaluation, Experiment, Machine, Saving
from assay.run.named_model import locate
from assay.source import Pool, Share
from assay.tasks import ALPHABET
from assay.tasks.verifying import verify
from assay.types import Batch, Reward, Row
from bench.update_batch import Case, as_asked, batch_of, cases

POOL = Pool((Share("mod-chain-7", (2, 3)),))
MAX_NEW = 24
SMALL = small_shape(hidden=64, layers=2, heads=4, ffn=160, context=64)
SHAPES = {
    "llama": dataclasses.replace(SMALL, family="llama", attention_bias=False, kv_heads=2, tied=False),
    "qwen2": SMALL,
    "qwen3": dataclasses.replace(SMALL, family="qwen3", attention_bias=False, kv_heads=1, head_dim=32, qk_norm=True),
}
FINE = {"gspo": "a clip of 3e-4", **said("FINE")}  # which tokens it is, rounding decides
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
        machine=Machine(threads=1, precision="fp32"),
        saving=Saving(every=10**9, rollouts_every=0),
    )
    run = session.start(experiment, folder / "run", quiet=True)
    return load_policy(locate(str(run)))


def engine_of(kind: type[LocalEngine], policy: Policy, precision: Any) -> LocalEngine:
    return kind(copy.deepcopy(policy.network), end_ids=policy.end_ids, precision=precision)


def answers_of(policy: Policy) -> list[Row]:
    """Answers of the model itself, judged."""
    engine = engine_of(TorchEngine, policy, "fp32")
    problems = [POOL.problem(Key(5)(i)) for i in range(24)]
    requests = first_requests(problems, Memory(0), first=0, samples=8, sampling=Sampling(MAX_NEW), codec=policy.codec)
    episodes = generate(Models({"policy": engine}, {"policy": "policy"}), requests, Key(1), policy.codec)
    verdicts = verify(episodes)
    right = [verdict.status == "ok" for verdict in verdicts]
    assert 0.1 < np.mean(right) < 1, "the model is to be neither new nor perfect"
    return [
        Row(dataclasses.replace(e, verdict=v, rewards=(Reward("outcome", float(v.status == "ok")),)))
        for e, v in zip(episodes, verdicts, strict=True)
    ]


def batches_of(policy: Policy, *, moved: float) -> Iterator[tuple[Case, Batch]]:
    """These answers as each objective gets them, so far off policy and from a reference; of equal ones the first."""
    engine, rows = engine_of(TorchEngine, policy, "fp32"), answers_of(policy)
    seen: set[Objective] = set()
    for case in cases():
        if case.objective not in seen:
            asked = as_asked(engine, rows, case)
            yield case, batch_of(engine, asked, case, vocab=policy.codec.vocab, moved=moved)
        seen.add(case.objective)


def gradient(engine: LocalEngine, batch: Batch, objective: Objective) -> Tensor:
    recipe = recipe_of("grpo", max_new=MAX_NEW)
    recipe = dataclasses.replace(recipe, mechanism=dataclasses.replace(recipe.mechanism, objective=objective))
    engine.model.zero_grad()
    return loss_and_gradient(engine, batch, recipe, micro_tokens=2048)[1].double()


def test_fp32_gradients_are_the_exact_ones(trained: Policy) -> None:
    exact, ours = engine_of(TorchEngine, trained, "fp64"), engine_of(NativeEngine, trained, "fp32")
    moved = TorchEngine(jostled(trained.network, 0), end_ids=trained.end_ids, precision="fp64")
    longest = max(max(parameter.shape) for parameter in trained.network.parameters())
    for case, batch in batches_of(trained, moved=0.15):
        want, near, got = (gradient(engine, batch, case.objective) for engine in (exact, moved, ours))
        assert want.norm() > 0, case.name
        assert (got - want).norm() <= distance(want, near, longest=longest), case.name


@pytest.mark.parametrize("variant", variants("bf16"))
def test_bf16_gradients_point_where_the_exact_ones_do(
    trained: Policy, variant: build.Variant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within 0.001 of the exact direction, or where the gradients of tokens nearly cancel, so that rounding alone turns
    it further, no further than PyTorch's bf16. Not where tokens stand at the edge of a clip: there rounding decides
    whether they are pushed at all.
    """
    monkeypatch.setenv(build.CHOICE, variant.name)
    exact, ours = engine_of(TorchEngine, trained, "fp64"), engine_of(NativeEngine, trained, "bf16")
    other = engine_of(TorchEngine, trained, "bf16")
    for case, batch in batches_of(trained, moved=0.02):
        if case.name in FINE:
            continue
        want, got = (gradient(engine, batch, case.objective) for engine in (exact, ours))
        if (turned := 1 - F.cosine_similarity(got, want, dim=0)) > 0.001:
            rounded = gradient(other, batch, case.objective)
            assert turned <= 1 - F.cosine_similarity(rounded, want, dim=0), case.name
        assert abs(got.norm() / want.norm() - 1) < 0.05, case.name
