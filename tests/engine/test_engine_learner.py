"""The learner: packed, shared, chunked, and yet the gradient of each row run alone; steps, states and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from engine_cases import (
    FAMILIES,
    assert_same,
    batch_of,
    collected,
    embedding_of,
    engine_of,
    exact_scores,
    learn,
    naive,
    naive_log_probs,
    requests_of,
    require_sampled,
    rows_of,
    tokens_of,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from rounding import Exact, units
from torch import Tensor
from typed import as_torch, present

from assay.engine import precision
from assay.engine.cutting import cut
from assay.engine.interface import Span, Want
from assay.engine.local import LocalEngine
from assay.engine.native.engine import NativeEngine
from assay.engine.optimiser import AdamW
from assay.engine.torch import attention as attention_module
from assay.engine.torch import engine as torch_engine
from assay.engine.torch import packing
from assay.errors import ConfigError, DataError, StorageError, UsageError
from assay.objective import NoRatio, Objective, Open
from assay.objective.improve import accumulate
from assay.policy.config import Rope
from assay.rng import Key
from assay.streams import Names
from assay.types import Batch

pytestmark = pytest.mark.usefixtures("kind")
ours = pytest.mark.parametrize("kind", ["torch", "native"], indirect=True)
torch_alone = pytest.mark.parametrize("kind", ["torch"], indirect=True)

LENGTHS = [5, 1, 9, 3, 7, 2, 12, 1, 4]


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_gradient_is_that_of_rows_run_alone(family: str) -> None:
    engine = engine_of(family, precision="fp64")
    batch = batch_of(*rows_of(LENGTHS), temperature=0.7)
    assert_same(learn(engine, batch), naive(engine, batch))


@pytest.mark.slow
@torch_alone
@pytest.mark.parametrize(("queries", "scores", "keep"), [(3, 60, 1 << 26), (4, 1, 0), (2, 1 << 20, 0), (64, 200, 1)])
def test_gradient_does_not_change_with_blocks_and_pieces(
    monkeypatch: pytest.MonkeyPatch, queries: int, scores: int, keep: int
) -> None:
    monkeypatch.setattr(packing, "PIECE_QUERIES", queries)
    monkeypatch.setattr(packing, "BLOCK_SCORES", scores)
    monkeypatch.setattr(attention_module, "KEEP_SCORES", keep)
    engine = engine_of("grouped", precision="fp64")
    batch = batch_of(*rows_of(LENGTHS, groups=3))
    assert_same(learn(engine, batch), naive(engine, batch))


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=7), st.integers(1, 3), st.integers(1, 60))
def test_gradient_does_not_change_with_the_cut(lengths: list[int], groups: int, tokens: int) -> None:
    engine = engine_of("grouped", precision="fp64", layers=1)
    batch = batch_of(*rows_of(lengths, groups=groups))
    assert_same(learn(engine, batch, tokens=tokens), naive(engine, batch))


@pytest.mark.slow
def test_gradient_does_not_change_with_micro_batches_in_fp32() -> None:
    engine = engine_of()
    batch = batch_of(*rows_of(LENGTHS))
    whole, exact = torch.cat([g.flatten() for g in learn(engine, batch).values()]), naive(engine, batch)
    for tokens in (1, 13, 30):
        parts = torch.cat([g.flatten() for g in learn(engine, batch, tokens=tokens).values()])
        assert (parts - whole).abs().max() <= 2 * max(
            map(exact.allowed, exact.values)
        )  # each is so near to the exact one


@pytest.mark.slow
def test_a_shared_context_is_run_once() -> None:
    engine = engine_of()
    contexts, answers = rows_of([4, 4, 4, 4, 4, 4], groups=2)
    (chunk,) = engine.chunks(batch_of(contexts, answers), tokens=1000)
    assert len(chunk.layout.ids) == len(contexts[0]) + len(contexts[1]) + 6 * 3
    assert len(chunk.layout.predict) == 24


@pytest.mark.slow
def test_outputs_are_the_log_probs_of_the_plain_network() -> None:
    engine = engine_of("qwen3")
    contexts, answers = rows_of(LENGTHS)
    top = np.random.default_rng(0).integers(0, 13, (sum(LENGTHS), 3)).astype(np.int32)
    batch = batch_of(contexts, answers, temperature=0.7, top_ids=top)
    for chunk in engine.chunks(batch, tokens=20):
        out = engine.forward(chunk, Want(entropy=True, top_ids=True))
        rows = [int(r) for r in chunk.rows]
        ids, more = chunk.streams["ids"], chunk.streams["top_ids"]

        def compute(model: Any, rows: list[int] = rows, ids: Tensor = ids, more: Tensor = more) -> dict[str, Tensor]:
            lp = torch.cat([naive_log_probs(model, contexts[r], answers[r], 0.7) for r in rows])
            picked = lp.gather(-1, ids[:, None])[:, 0]
            return {"logp": picked, "entropy": -(lp.exp() * lp).sum(-1), "top_logp": lp.gather(-1, more)}

        assert ids.tolist() == np.concatenate([answers[r] for r in rows]).tolist()
        assert chunk.row.tolist() == np.repeat(np.arange(len(rows)), [len(answers[r]) for r in rows]).tolist()
        exact = Exact(engine.model, compute, tokens=max(LENGTHS) + max(map(len, contexts)))
        exact.require(logp=out.logp, entropy=present(out.entropy), top_logp=present(out.top_logp))
        assert out.logp.requires_grad and out.logp.is_leaf


@pytest.mark.turns(3)
@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_sampler_and_learner_agree(family: str) -> None:
    engine = engine_of(family)
    requests = requests_of(3, 5, max_new=30)
    got = engine.generate(requests, Key(1))
    batch = batch_of([r.context for r in requests], [g.segment.ids for g in got])
    require_sampled(engine, requests, got)
    for chunk in engine.chunks(batch, tokens=60):
        with torch.no_grad():
            out = engine.forward(chunk, Want())
        assert not out.logp.requires_grad
        if engine.exact:
            np.testing.assert_array_equal(out.logp, np.concatenate([got[r].segment.old for r in chunk.rows]))
        spans = [Span(requests[r].context, got[r].segment.ids) for r in chunk.rows]
        exact_scores(engine.model, spans).require(logp=out.logp)


def test_further_log_probs_have_gradients() -> None:
    engine = engine_of(precision="fp64")
    contexts, answers = rows_of([6, 3])
    top = np.random.default_rng(0).integers(0, 13, (9, 2)).astype(np.int32)
    (chunk,) = engine.chunks(batch_of(contexts, answers, top_ids=top), tokens=100)
    out = engine.forward(chunk, Want(top_ids=True))
    assert out.top_logp is not None
    (out.top_logp * torch.arange(1.0, 3.0, dtype=out.top_logp.dtype)).sum().backward()
    engine.backward(chunk, out)
    got = collected(engine)

    def compute(model: Any) -> dict[str, Tensor]:
        model.zero_grad()
        for r in chunk.rows:
            lp = naive_log_probs(model, contexts[r], answers[r])
            chosen = torch.from_numpy(top[:6] if r == 0 else top[6:]).long()
            (lp.gather(-1, chosen) * torch.arange(1.0, 3.0, dtype=torch.float64)).sum().backward()
        return {name: p.grad for name, p in model.named_parameters() if p.grad is not None}

    assert_same(got, Exact(engine.model, compute, tokens=tokens_of(chunk.batch)))


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 30), min_size=1, max_size=12), st.integers(1, 4), st.integers(1, 80))
def test_every_row_is_in_one_chunk_within_the_limit(lengths: list[int], groups: int, tokens: int) -> None:
    contexts, answers = rows_of(lengths, groups=groups)
    batch = batch_of(contexts, answers)
    chunks = cut(batch, tokens=tokens)
    assert sorted(int(r) for rows in chunks for r in rows) == list(range(len(lengths)))
    for rows in chunks:
        shared = {contexts[r].tobytes(): len(contexts[r]) for r in rows}
        used = sum(shared.values()) + sum(len(answers[r]) - 1 for r in rows)
        assert used <= tokens or len(rows) == 1
    for group in {c.tobytes() for c in contexts}:
        members = [r for r in range(len(lengths)) if contexts[r].tobytes() == group]
        if len(contexts[members[0]]) + sum(lengths[r] - 1 for r in members) <= tokens:
            assert sum(bool(set(rows) & set(members)) for rows in chunks) == 1


def test_streams_are_those_of_the_rows() -> None:
    batch = batch_of(
        *rows_of(LENGTHS), old=np.arange(sum(LENGTHS), dtype=np.float32), term_weights={"x": np.ones(44, "f")}
    )
    for chunk in engine_of().chunks(batch, tokens=20):
        want = np.concatenate([present(batch.old)[batch.at[r] : batch.at[r + 1]] for r in chunk.rows])
        assert chunk.streams["old"].tolist() == want.tolist()
        assert chunk.term_weights["x"].shape == (len(want),)
        assert "ref" not in chunk.streams


def test_a_step_is_adamw_with_decay_on_matrices_alone() -> None:
    values = AdamW(betas=(0.8, 0.9), eps=1e-3, weight_decay=0.5)
    engine = engine_of(precision="fp64", optimiser=values)
    before = {name: p.detach().clone() for name, p in engine.model.named_parameters()}
    batch = batch_of(*rows_of(LENGTHS))
    grads = learn(engine, batch)
    norm = float(torch.cat([g.flatten() for g in grads.values()]).norm())
    assert norm > 1
    learn_again(engine, batch)
    stats = engine.step(lr=0.01, clip=1.0)
    assert stats["skipped"] == 0 and engine.version == 1
    exact = engine.compute == torch.float64
    format = "fp64" if exact else "fp32"
    count = sum(grad.numel() for grad in grads.values())
    np.testing.assert_allclose(stats["grad_norm"], norm, rtol=units(count**0.5, format=format))
    for name, p in engine.model.named_parameters():
        g = grads[name] / norm
        decay = 0.5 if p.ndim >= 2 else 0.0
        mean, square = g, g.square()  # after one step both moments are unbiased
        want = before[name] * (1 - 0.01 * decay) - 0.01 * mean / (square.sqrt() + 1e-3)
        torch.testing.assert_close(p.detach(), want, atol=units(10, want, format), rtol=0)


def learn_again(engine: LocalEngine, batch: Batch, *, tokens: int = 10_000) -> None:
    for chunk in engine.chunks(batch, tokens=tokens):
        out = engine.forward(chunk, Want(entropy=True))
        a = chunk.streams["advantage"]
        ((a * out.logp).sum() + 0.3 * (a.square() * present(out.entropy)).sum()).backward()
        engine.backward(chunk, out)


def test_a_gradient_that_is_not_finite_moves_nothing() -> None:
    engine = engine_of()
    batch = batch_of(*rows_of(LENGTHS))
    learn_again(engine, batch)
    engine.step(lr=1e-3, clip=None)
    before = engine.state()
    learn_again(engine, batch)
    next(engine.model.parameters()).grad[0, 0] = float("nan")
    assert engine.step(lr=1e-3, clip=1.0)["skipped"] == 1.0
    after = engine.state()
    assert before.keys() == after.keys() and engine.version == 1
    for name, value in before.items():
        assert name == "version" or torch.equal(value, after[name])
    assert engine.step(lr=0.0, clip=None)["grad_norm"] == 0.0


def test_a_number_that_is_none_is_reported_with_its_token(caplog: pytest.LogCaptureFixture) -> None:
    """An embedding that is not a number spoils what follows its token, in the one answer that holds it."""
    engine = engine_of("llama")
    poison, prompt = 7, np.array([1, 2], np.int32)
    answers = [np.array(ids, np.int32) for ids in ([3, 4, 5], [3, 4, poison, 5, 6], [4])]
    batch = batch_of([prompt] * 3, answers, request=Names.of(("first", "second", "third")))
    with torch.no_grad():
        embedding_of(engine)[poison] = float("nan")
    engine._refresh()
    accumulate(engine, batch, np.ones(len(batch.ids), np.float32), Objective(ratio=NoRatio(), gate=Open()), 10_000)
    assert "token 3 of answer second is not finite" in caplog.text
    assert engine.step(lr=1e-3, clip=1.0)["skipped"] == 1.0


def test_weights_and_gradients_are_views_of_two_vectors() -> None:
    engine = engine_of("qwen3")
    assert engine.optimiser is not None
    flat, gradient = engine.optimiser.weights, engine.optimiser.gradient
    for name, parameter in engine.model.named_parameters():
        place = engine.optimiser.places[name]
        assert parameter.data_ptr() == flat[place].data_ptr() and parameter.grad is not None
        assert parameter.grad.data_ptr() == gradient[place].data_ptr()
    learn_again(engine, batch_of(*rows_of(LENGTHS)))
    engine.step(lr=1e-2, clip=1.0)
    held = {name: p.clone() for name, p in engine.model.named_parameters()}
    named = {name: flat[place].view_as(held[name]) for name, place in engine.optimiser.places.items()}
    assert all(torch.equal(named[name], value) for name, value in held.items())


@pytest.mark.parametrize("how", ["zero_grad", "replaced"])
def test_a_gradient_that_somebody_replaced_counts_all_the_same(how: str) -> None:
    batch, results = batch_of(*rows_of(LENGTHS)), []
    for changed in (False, True):
        engine = engine_of()
        if changed and how == "zero_grad":
            engine.model.zero_grad()
        learn_again(engine, batch)
        if changed and how == "replaced":
            for parameter in engine.model.parameters():
                parameter.grad = None if parameter.grad is None else parameter.grad.clone()
        results.append((engine.step(lr=1e-2, clip=1.0), engine.state()))
    (stats, state), (same_stats, same) = results
    assert stats == same_stats and all(torch.equal(torch.as_tensor(state[k]), torch.as_tensor(same[k])) for k in state)


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_loaded_state_goes_on_bit_for_bit(precision: str) -> None:
    batch = batch_of(*rows_of(LENGTHS))

    def advance(engine: LocalEngine, steps: int) -> None:
        for _ in range(steps):
            learn_again(engine, batch, tokens=25)
            engine.step(lr=1e-2, clip=1.0)

    engine = engine_of(precision=precision)
    advance(engine, 2)
    saved = engine.state()
    advance(engine, 2)
    other = engine_of(precision=precision, seed=9)
    other.load(saved)
    assert other.version == 2
    advance(other, 2)
    want, got = engine.state(), other.state()
    assert want.keys() == got.keys() and got["version"] == 4
    assert all(torch.equal(want[k], got[k]) for k in want if k != "version")
    requests = requests_of(2, 2)
    assert [present(g.segment.old).tolist() for g in engine.generate(requests, Key(0))] == [
        present(g.segment.old).tolist() for g in other.generate(requests, Key(0))
    ]


def test_a_state_of_another_model_is_refused() -> None:
    with pytest.raises(StorageError, match="parameter/"):
        engine_of().load(engine_of(hidden=32).state())


@torch_alone
def test_bf16_gradients_gather_in_fp32_and_point_the_same_way() -> None:
    batch = batch_of(*rows_of(LENGTHS))
    exact, rough = engine_of(), engine_of(precision="bf16")
    want, got = learn(exact, batch), learn(rough, batch, tokens=20)
    assert all(g.dtype == torch.float32 for g in got.values())
    a, b = (torch.cat([grads[name].flatten() for name in want]) for grads in (want, got))
    assert float(torch.cosine_similarity(a, b, dim=0)) > 0.99
    learn_again(rough, batch)
    rough.step(lr=1e-2, clip=1.0)
    assert torch.equal(as_torch(rough).network.head, rough.model.lm_head.weight.to(torch.bfloat16))


def test_a_copy_is_frozen_and_stays_behind() -> None:
    engine = engine_of()
    twin = engine.copy()
    batch = batch_of(*rows_of(LENGTHS))
    learn_again(engine, batch)
    engine.step(lr=1e-2, clip=None)
    fresh = engine_of()
    span = [Span(np.array([1, 2], np.int32), np.array([3, 4], np.int32))]
    assert twin.score(span)[0].logp.tolist() == fresh.score(span)[0].logp.tolist()
    assert twin.score(span)[0].logp.tolist() != engine.score(span)[0].logp.tolist()
    with pytest.raises(UsageError, match="frozen"):
        twin.step(lr=1.0, clip=None)
    (chunk,) = twin.chunks(batch, tokens=1000)
    assert not twin.forward(chunk, Want()).logp.requires_grad


def test_calls_that_make_no_sense_are_refused() -> None:
    engine = engine_of()
    batch = batch_of(*rows_of([3, 2]))
    (chunk,) = engine.chunks(batch, tokens=100)
    with pytest.raises(ConfigError, match="value head"):
        engine.forward(chunk, Want(value=True))
    with pytest.raises(UsageError, match="top_ids"):
        engine.forward(chunk, Want(top_ids=True))
    out = engine.forward(chunk, Want())
    out.logp.sum().backward()
    engine.backward(chunk, out)
    with pytest.raises(UsageError, match="once"):
        engine.backward(chunk, out)
    with pytest.raises(DataError, match="context of 256"):
        list(engine.chunks(batch_of(*rows_of([300])), tokens=100))
    with pytest.raises(DataError, match="empty"):
        list(engine.chunks(batch_of([np.zeros(0, np.int32)], [np.ones(2, np.int32)]), tokens=100))


def test_scores_of_long_and_short_spans_in_any_order() -> None:
    engine = engine_of(precision="fp64")
    contexts, answers = rows_of([80, 1, 33, 150, 2], groups=2)
    spans = [Span(c, a, 0.5 + 0.1 * i) for i, (c, a) in enumerate(zip(contexts, answers))]
    scores = engine.score(spans)
    exact_scores(engine.model, spans).require(logp=np.concatenate([score.logp for score in scores]))
    assert all(score.entropy is None for score in scores)


def test_the_format_is_fp32_where_bf16_is_emulated(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu = torch.device("cpu")
    monkeypatch.setattr(precision, "native_bf16", lambda _: (False, "none here"))
    assert precision.choose("auto", cpu) == (torch.float32, "fp32: none here")
    monkeypatch.setattr(precision, "native_bf16", lambda _: (True, "units here"))
    assert precision.choose("auto", cpu) == (torch.bfloat16, "bf16: units here")
    assert precision.choose("fp32", cpu)[0] is torch.float32


@ours
def test_positions_that_stretch_with_the_row_are_the_same_for_sampler_and_learner() -> None:
    """Angles that depend on a row's length must not depend on how long the longest row of a call happens to be."""
    rope = Rope("longrope", original_context=16, short_factor=(1.0, 1.0), long_factor=(2.0, 5.0))
    engine = engine_of(rope=rope, end=None)
    requests = requests_of(1, 2, max_new=30) + requests_of(2, 1, max_new=3)[1:]
    got = engine.generate(requests, Key(0))
    require_sampled(engine, requests, got)
    for request, one in zip(requests, got):
        spans = [Span(request.context, one.segment.ids)]
        (alone,) = engine.score(spans)
        exact_scores(engine.model, spans).require(logp=alone.logp)
    native = isinstance(engine, NativeEngine)
    cos = engine.weights.turns[0] if native else as_torch(engine).network.tables(4)[0][:, 0]
    want = np.cos(3 / np.array([2.0, 5.0 * 100.0])) * float(engine.model.rotary.scale)
    np.testing.assert_allclose(cos[3, :2], want, atol=units(8))


class Saved:
    """The most bytes of tapes and inputs that a pass held at once."""

    def __init__(self, engine: LocalEngine) -> None:
        self.engine, self.most = engine, 0

    def pass_over(self, batch: Batch) -> dict[str, Tensor]:
        (chunk,) = self.engine.chunks(batch, tokens=10_000)
        out = self.engine.forward(chunk, Want())
        (kept,) = [held.kept for held in as_torch(self.engine)._held.values()]
        parts = [[tape] if isinstance(tape, Tensor) else list(vars(tape).values()) for tape in kept.layers]
        self.most = sum(x.nbytes for part in parts for x in part if isinstance(x, Tensor))
        (chunk.streams["advantage"] * out.logp).sum().backward()
        self.engine.backward(chunk, out)
        return collected(self.engine)


@torch_alone
@pytest.mark.parametrize("family", FAMILIES)
def test_layers_that_are_computed_again_give_the_same_bits_in_less_memory(family: str) -> None:
    batch = batch_of(*rows_of(LENGTHS))
    kept, again = Saved(engine_of(family, layers=4)), Saved(engine_of(family, layers=4))
    again.engine.checkpointing = "on"
    want, got = kept.pass_over(batch), again.pass_over(batch)
    assert got.keys() == want.keys()
    assert all(torch.equal(got[name], want[name]) for name in want)
    assert again.most < kept.most / 6  # of a layer D numbers a token stay, instead of more than 4 F = 6 D


@torch_alone
def test_layers_are_computed_again_where_keeping_them_takes_much(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = as_torch(engine_of())
    assert not engine.checkpoints(1000)
    monkeypatch.setattr(torch_engine, "TAPE_BYTES", 1000)
    assert engine.checkpoints(1000)
    engine.checkpointing = "off"
    assert not engine.checkpoints(1000)
