"""A learner over several ranks computes what one process computes: gradients, scores, clipped steps, weights."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from awkward import batch_for_all, recipe
from distinct import OBJECTIVES
from engine_cases import FAMILIES, Default, batch_of, engine_of, model_of, rows_of
from rank_groups import DEADLINE, shared_ranks
from rounding import EPS, Format, distance, jostled
from tiny import loss_and_gradient, policy
from torch import Tensor

import assay.engine.transformers.engine
from assay.engine.cutting import evenly
from assay.engine.interface import Span, Want
from assay.engine.local import LocalEngine
from assay.engine.sharded.engine import ShardedLearner
from assay.engine.sharded.ranks import RankLayout, Ranks
from assay.engine.torch.engine import TorchEngine
from assay.engine.torch.value_engine import ValueEngine
from assay.errors import ConfigError, DataError, UsageError
from assay.policy.adapted import attach, own, stored
from assay.policy.lora import Lora
from assay.rng import Key
from assay.types import Batch

pytestmark = pytest.mark.slow
LENGTHS = [5, 1, 9, 3, 7, 2, 12]
LONGEST = 1024  # numbers in the longest sum of these networks and rows, over widths and tokens: 13 x 48, or fewer
ROUNDING = LONGEST * EPS["fp64"]  # a sum of n numbers is off by n units of the sum of their sizes at most
SCORES = 2 * EPS["fp32"]  # fp64 rounded to fp32, in which log-probs of scored tokens are kept
STEPPED: dict[str, Any] = {
    "rtol": 1e-9,
    "atol": 1e-11,
}  # after AdamW, which divides small gradients by their size: between the formats


@pytest.fixture(scope="module", params=[2, 3])
def ranks(request: pytest.FixtureRequest) -> Ranks:
    return shared_ranks(request.param)


@pytest.fixture(scope="module")
def two() -> Ranks:
    return shared_ranks(2)


def learn(engine: Any, given: Batch, tokens: int, *, spread: float = 0.3) -> None:
    for chunk in engine.chunks(given, tokens=tokens):
        out = engine.forward(chunk, Want(entropy=spread != 0))
        a = chunk.streams["advantage"]
        loss = (a * out.logp).sum()
        if out.entropy is not None:
            loss = loss + spread * (a.square() * out.entropy).sum()
        loss.backward()
        engine.backward(chunk, out)


def cut_alike(ranks: Ranks, monkeypatch: pytest.MonkeyPatch) -> None:
    """One process gets the chunks that the ranks get. Other chunks are padded otherwise, and `transformers` turns by
    angles in fp32, also in a network of fp64: its gradient then differs by 3e-8 in one process too.
    """
    plain = assay.engine.transformers.engine.cut_rectangles
    monkeypatch.setattr(
        assay.engine.transformers.engine, "cut_rectangles", partial(evenly, plain, ranks=ranks.group.size)
    )


def gap(learner: ShardedLearner, engine: LocalEngine) -> float:
    """How far the gathered gradient is from that of one process, as a share of its norm."""
    engine.hand_out()
    far = near = 0.0
    for name, parameter in own(engine.model).items():
        found = learner.gradient(name)
        assert parameter.grad is not None
        found = torch.zeros_like(parameter) if found is None else found
        far, near = far + float((found - parameter.grad).square().sum()), near + float(parameter.grad.square().sum())
    assert near > 1e-6
    return (far / near) ** 0.5


def gathered(learner: ShardedLearner, engine: LocalEngine) -> Tensor:
    """All gradients end to end, as `take_gradient` has them."""
    found = []
    for name, parameter in engine.model.named_parameters():
        whole = learner.gradient(name)
        found.append((torch.zeros_like(parameter) if whole is None else whole).flatten())
    learner.forget()
    return torch.cat(found)


@pytest.mark.turns(3)
@pytest.mark.parametrize("kind", ["torch", "adapter"])
@pytest.mark.parametrize("family", FAMILIES)
def test_gradients_scores_and_steps_are_those_of_one_process(
    ranks: Ranks, family: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Default, "kind", kind)
    cut_alike(ranks, monkeypatch)
    engine = engine_of(family, precision="fp64")
    learner = ShardedLearner(ranks, f"{family} {kind}", engine.model, precision="fp64", kernels="torch")
    assert learner.kernels == ("torch: it was asked for" if kind == "torch" else "")
    given, single = (batch_of(*rows_of(lengths), temperature=0.7) for lengths in (LENGTHS, LENGTHS[:1]))
    for batch, tokens in ((given, 10_000), (given, 20), (single, 20)):  # of a single row ranks have nothing
        for one in (learner, engine):
            learn(one, batch, tokens)
        assert gap(learner, engine) < ROUNDING
        for one in (learner, engine):
            one.forget()
    spans = [Span(given.context[:4], given.ids[:n], 0.5) for n in (5, 2, 7)] + [Span(given.context[:2], given.ids[:3])]
    for mine, theirs in zip(learner.score(spans, entropy=True), engine.score(spans, entropy=True), strict=True):
        np.testing.assert_allclose(mine.logp, theirs.logp, rtol=SCORES)
        np.testing.assert_allclose(mine.entropy, theirs.entropy, rtol=SCORES)  # type: ignore[arg-type]
    for clip in (1.0, None):
        for one in (learner, engine):
            learn(one, given, 30)
        mine, theirs = (one.step(lr=1e-2, clip=clip) for one in (learner, engine))
        assert mine == pytest.approx(theirs, rel=ROUNDING)
    assert learner.version == engine.version == 2
    weights = dict(learner.tensors())
    for name, tensor in stored(engine.model).items():
        torch.testing.assert_close(weights[name], tensor.detach(), **STEPPED)


@pytest.mark.turns(4)
@pytest.mark.over_recipes
@pytest.mark.parametrize("precision", ["fp64", "fp32"])
@pytest.mark.parametrize("name", OBJECTIVES)
def test_the_gradient_of_every_objective_is_that_of_one_process(ranks: Ranks, name: str, precision: Format) -> None:
    """On awkward rows in many small chunks, so that waves are uneven and the last one has ranks without rows."""
    given, made = batch_for_all(name), recipe(name)

    def computed(engine: Any, **how: Any) -> Tensor:
        loss, gradient = loss_and_gradient(engine, given, made, **how)
        return torch.cat([gradient.double(), torch.tensor([loss], dtype=torch.float64)])

    engine, moved = policy("fp64"), policy("fp64")
    moved.model.load_state_dict(jostled(engine.model, 0).state_dict())
    exact, near = computed(engine), computed(moved)
    learner = ShardedLearner(ranks, precision, policy(precision).model, precision=precision)
    found = computed(learner, micro_tokens=12, gradient=lambda one: gathered(one, engine))
    assert exact[:-1].norm() > 1e-3
    assert (found - exact).norm() <= distance(exact, near, longest=len(given.ids), format=precision)


@pytest.mark.parametrize("kind", ["torch", "adapter"])
def test_adapters_train_and_their_base_stays(ranks: Ranks, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Default, "kind", kind)
    cut_alike(ranks, monkeypatch)
    plain = engine_of("qwen3", precision="fp64").model
    model = attach(plain, Lora(rank=3, alpha=5.0), key=Key("lora"))
    with torch.no_grad():
        for name, parameter in own(model).items():
            if "lora_B" in name:
                parameter.add_(0.1)
    engine = type(engine_of())(model, end_ids=frozenset({0}), precision="fp64")
    learner = ShardedLearner(ranks, f"lora {kind}", engine.model, precision="fp64")
    given = batch_of(*rows_of(LENGTHS))
    for one in (learner, engine):
        learn(one, given, 30)
    assert gap(learner, engine) < ROUNDING
    assert learner.gradient(next(iter(model.base_names))) is None
    for one in (learner, engine):
        one.step(lr=1e-2, clip=1.0)
    weights = dict(learner.tensors())
    assert weights.keys() == stored(engine.model).keys() and all(".lora_" in name for name in weights)
    for name, tensor in stored(engine.model).items():
        torch.testing.assert_close(weights[name], tensor.detach(), **STEPPED)
    plain = dict(engine.tensors(merged=True))
    whole = dict(learner.tensors(merged=True))
    assert whole.keys() == plain.keys() and not any(".lora_" in name for name in whole)
    for name, tensor in plain.items():
        torch.testing.assert_close(whole[name], tensor, **STEPPED)
    with learner.disturbed():
        assert not any(torch.equal(tensor, whole[name]) for name, tensor in learner.tensors(merged=True))
    assert all(torch.equal(tensor, whole[name]) for name, tensor in learner.tensors(merged=True))


def test_a_critic_has_values_and_learns_them(ranks: Ranks) -> None:
    engine = ValueEngine(model_of("grouped"), end_ids=frozenset({0}), precision="fp64")
    with torch.no_grad():
        engine.value_head.weight.normal_(generator=torch.Generator().manual_seed(1))
    learner = ShardedLearner(ranks, "critic", engine.model, precision="fp64")
    given = batch_of(*rows_of(LENGTHS))
    for one in (learner, engine):
        for chunk in one.chunks(given, tokens=30):
            out = one.forward(chunk, Want(value=True))
            assert out.value is not None
            (out.value - chunk.streams["advantage"]).square().sum().backward()
            one.backward(chunk, out)
    assert gap(learner, engine) < ROUNDING
    with pytest.raises(ConfigError, match="values alone"):
        learner.forward(next(iter(learner.chunks(given, tokens=30))), Want())
    both = ShardedLearner(ranks, "speaking critic", engine.model, precision="fp64", speaks=True)
    plain = engine_of("grouped", precision="fp64")
    for chunk, other in zip(both.chunks(given, tokens=9999), plain.chunks(given, tokens=9999), strict=True):
        said, wanted = both.forward(chunk, Want()), plain.forward(other, Want())
        assert said.value is None and both.forward(chunk, Want(value=True)).value is not None
        torch.testing.assert_close(said.logp.sort().values, wanted.logp.sort().values, **STEPPED)


def test_further_log_probs_and_blended_inputs_cross_the_border(two: Ranks) -> None:
    engine = engine_of("grouped", precision="fp64")
    learner = ShardedLearner(two, "more", engine.model, precision="fp64")
    random = np.random.default_rng(2)
    count = sum(LENGTHS)
    more = {
        "top_ids": np.array([random.permutation(13)[:3] for _ in range(count)], np.int32),
        "blend_ids": random.integers(0, 13, count).astype(np.int32),
        "blend_share": random.uniform(0, 0.5, count).astype(np.float32),
    }
    given = batch_of(*rows_of(LENGTHS), **more)
    want = Want(top_ids=True, mean_logp=True, likeliest=3)
    numbers: dict[int, dict[str, list[Tensor]]] = {0: {}, 1: {}}
    for which, one in enumerate((learner, engine)):
        for chunk in one.chunks(given, tokens=40):
            out = one.forward(chunk, want)
            assert out.top_logp is not None
            for name in ("logp", "top_logp", "mean_logp", "likeliest", "likeliest_logp"):
                per_row = getattr(out, name).detach().split(chunk.batch.lengths.tolist())
                numbers[which].setdefault(name, [torch.empty(0)] * len(given))
                for row, piece in zip(chunk.rows, per_row, strict=True):
                    numbers[which][name][row] = piece
            (out.logp.sum() + 0.3 * out.top_logp.square().sum()).backward()
            one.backward(chunk, out)
    for name, mine in numbers[0].items():
        for left, right in zip(mine, numbers[1][name], strict=True):
            torch.testing.assert_close(left, right, **STEPPED)
    assert gap(learner, engine) < ROUNDING


def test_activations_that_are_computed_again_change_no_gradient(two: Ranks) -> None:
    engine = engine_of("grouped", precision="fp64")
    learner = ShardedLearner(two, "again", engine.model, precision="fp64", checkpointing="on")
    given = batch_of(*rows_of(LENGTHS))
    for one in (learner, engine):
        learn(one, given, 30)
    assert gap(learner, engine) < ROUNDING


def test_a_gradient_that_is_not_finite_on_one_rank_moves_no_rank(two: Ranks) -> None:
    engine = engine_of("grouped")
    learner = ShardedLearner(two, "broken", engine.model, precision="fp32")
    before = dict(learner.tensors())
    given = batch_of(*rows_of(LENGTHS))
    for wave in learner.chunks(given, tokens=30):
        out = learner.forward(wave, Want())
        (out.logp[0] * torch.nan).backward()
        learner.backward(wave, out)
    assert learner.step(lr=1e-2, clip=1.0)["skipped"] == 1.0 and learner.version == 0
    assert all(torch.equal(tensor, before[name]) for name, tensor in learner.tensors())
    learn(learner, given, 30)
    assert learner.step(lr=1e-2, clip=1.0)["skipped"] == 0.0, "and the next step begins with a clean gradient"


def test_weights_are_taken_averaged_and_put_back(two: Ranks) -> None:
    policy_, other = (
        ShardedLearner(two, name, model_of("qwen2", seed=seed), precision="fp32") for name, seed in (("p", 0), ("o", 5))
    )
    mine, theirs = dict(policy_.tensors()), dict(other.tensors())
    other.version = 7
    policy_.mark_start()
    policy_.take(other, 0.25)
    for name, tensor in policy_.tensors():
        torch.testing.assert_close(tensor, mine[name] + 0.25 * (theirs[name] - mine[name]))
    assert policy_.version == 0
    policy_.take(other)
    assert policy_.version == 7 and all(torch.equal(tensor, theirs[name]) for name, tensor in policy_.tensors())
    policy_.return_to_start()
    assert policy_.version == 7 and all(torch.equal(tensor, mine[name]) for name, tensor in policy_.tensors())
    with pytest.raises(UsageError, match="mark_start"):
        other.return_to_start()


def test_a_pass_that_nobody_takes_back_leaves_no_old_weights_behind(two: Ranks) -> None:
    """FSDP2 keeps the root's weights whole after a forward pass; they must not outlive a step or a restore."""
    engine = engine_of("grouped", precision="fp64")
    learner = ShardedLearner(two, "left", engine.model, precision="fp64")
    given = batch_of(*rows_of(LENGTHS))
    spans = [Span(given.context[:4], given.ids[:5])]
    for one in (learner, engine):
        learn(one, given, 30)
        one.score(spans)
        one.forward(next(iter(one.chunks(given, tokens=30))), Want())
        one.step(lr=1e-2, clip=1.0)
    np.testing.assert_allclose(learner.score(spans)[0].logp, engine.score(spans)[0].logp, rtol=SCORES)
    for one in (learner, engine):
        learn(one, given, 30)
    assert gap(learner, engine) < STEPPED["rtol"]


def test_what_a_learner_of_ranks_does_not_do_is_said(two: Ranks) -> None:
    from assay.engine.optimiser import AdamW

    with pytest.raises(ConfigError, match="optimiser_bits is 8"):
        ShardedLearner(two, "x", model_of("qwen2"), optimiser=AdamW(bits=8))
    frozen = ShardedLearner(two, "frozen", model_of("qwen2"), optimiser=None, precision="fp32")
    given = batch_of(*rows_of(LENGTHS))
    with pytest.raises(UsageError, match="frozen"):
        frozen.step(lr=1e-3, clip=None)
    wave = next(iter(frozen.chunks(given, tokens=30)))
    out = frozen.forward(wave, Want())
    assert not out.logp.requires_grad
    with pytest.raises(UsageError, match="once"):
        frozen.backward(wave, out)
    with pytest.raises(DataError, match="context of 256"):
        frozen.score([Span(np.ones(200, np.int32), np.ones(100, np.int32))])


@pytest.mark.turns(3)
def test_ranks_share_what_one_would_hold_and_a_mesh_may_have_copies() -> None:
    """Two copies over two ranks each: read in the ranks."""
    engine = TorchEngine(model_of("grouped"), end_ids=frozenset({0}), precision="fp64")
    given = batch_of(*rows_of(LENGTHS))
    with Ranks(RankLayout(size=4, replicate=2, deadline=DEADLINE)) as group:
        learner = ShardedLearner(group, "policy", engine.model, precision="fp64")
        for one in (learner, engine):
            learn(one, given, 20)
        assert gap(learner, engine) < ROUNDING
        held = group.call("do", "policy", "held_numbers")
        whole = sum(p.numel() for p in engine.model.parameters())
        for one in (learner, engine):
            mine = one.step(lr=1e-2, clip=0.5)
            assert mine["grad_norm"] > 0.5
        moments = group.call("do", "policy", "held_numbers")
        weights = dict(learner.tensors())
    for name, tensor in stored(engine.model).items():
        torch.testing.assert_close(weights[name], tensor.detach(), **STEPPED)
    assert [one["parameters"] for one in held] == [one["gradients"] for one in held]
    assert sum(one["parameters"] for one in held) == 2 * whole, "each number is on one rank of each copy"
    assert max(one["parameters"] for one in held) < 0.6 * whole
    assert [one["moments"] for one in moments] == [2 * one["parameters"] for one in moments]
