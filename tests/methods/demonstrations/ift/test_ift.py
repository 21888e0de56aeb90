"""Intuitive fine-tuning: what the learner reads beside an answer on every engine, and the loss that it propagates."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from engine_cases import Default, batch_of, engine_of, learn, naive, naive_log_probs, rows_of, tokens_of
from hypothesis import given, settings
from hypothesis import strategies as st
from off_policy import SHAPES, Answer, world
from rounding import Exact
from tiny import Letters, models_for, phases_of, policy, recipe_of, register, require_resumable, run
from torch import Tensor, nn

from assay.engine.interface import Span, Want
from assay.memory import Memory
from assay.methods.demonstrations.ift.guesses import guesses
from assay.methods.demonstrations.ift.loss import Propagated, discounted
from assay.objective import Objective, SequenceMean, TokenMean
from assay.policy.foreign import Foreign
from assay.policy.transformer import Transformer
from assay.types import Batch, Origin

LENGTHS = [5, 1, 9, 3, 7, 2, 1, 4]


# What is read


def table_of(model: nn.Module) -> nn.Embedding:
    return next(module for module in model.modules() if isinstance(module, nn.Embedding))


@contextmanager
def reading(model: nn.Module, share: np.ndarray, beside: np.ndarray) -> Iterator[None]:
    """The network's embedding layer gives mixtures, without a graph behind them."""

    def mixed(table: nn.Module, given: tuple[Tensor, ...], out: Tensor) -> Tensor:
        other = table_of(model).weight[torch.from_numpy(beside.astype(np.int64))]
        weight = torch.from_numpy(share).to(out.dtype)[:, None]
        return ((1 - weight) * out + weight * other).detach()

    handle = table_of(model).register_forward_hook(mixed)
    try:
        yield
    finally:
        handle.remove()


def mixture(share: float = 0.3, *, temperature: float = 1.0) -> Batch:
    """Ragged answers under shared contexts, with random tokens beside; every third is read as it is."""
    contexts, answers = rows_of(LENGTHS, groups=3)
    random = np.random.default_rng(0)
    count = sum(LENGTHS)
    weights = (share * (np.arange(count) % 3 != 0)).astype(np.float32)
    beside = random.integers(0, 13, count).astype(np.int32)
    return batch_of(contexts, answers, temperature=temperature, blend_ids=beside, blend_share=weights)


def alone(model: Transformer | Foreign, batch: Batch, learnt: Callable[[Tensor, Tensor], None]) -> None:
    """The log-probs of each row's tokens by itself, handed to `learnt` with the tokens' advantages."""
    model.zero_grad()
    for b in range(len(batch)):
        context, mine = (
            batch.context[batch.context_at[b] : batch.context_at[b + 1]],
            slice(batch.at[b], batch.at[b + 1]),
        )
        nothing = np.zeros(len(context))
        assert batch.blend_share is not None and batch.blend_ids is not None
        share, beside = (np.concatenate([nothing, x[mine]]) for x in (batch.blend_share, batch.blend_ids))
        with reading(model, share, beside):
            every = naive_log_probs(model, context, batch.ids[mine], float(batch.temperature[b]))
        ids = torch.from_numpy(batch.ids[mine].astype(np.int64))
        learnt(every.gather(-1, ids[:, None])[:, 0], torch.from_numpy(batch.advantage[mine]).double())


@pytest.mark.slow
@pytest.mark.usefixtures("kind")
@pytest.mark.parametrize("family", ["qwen2", "llama"])
@pytest.mark.parametrize("tokens", [10_000, 25])
def test_log_probs_and_gradients_are_those_of_mixed_embeddings(family: str, tokens: int) -> None:
    """Tied and untied; nothing goes back into the embeddings through what is read."""
    engine = engine_of(family, precision="fp64")
    batch = mixture(temperature=0.7)

    def compute(model: Transformer | Foreign) -> dict[str, Tensor]:
        rows: list[Tensor] = []

        def learnt(logp: Tensor, advantage: Tensor) -> None:
            rows.append(logp)
            (advantage * logp).sum().backward()

        alone(model, batch, learnt)
        grads = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
        return {**{str(i): row for i, row in enumerate(rows)}, **grads}

    exact = Exact(engine.model, compute, tokens=tokens_of(batch))
    format = "fp64" if engine.compute == torch.float64 and Default.kind != "adapter" else "fp32"
    for chunk in engine.chunks(batch, tokens=tokens):
        with torch.no_grad():
            found = engine.forward(chunk, Want()).logp
        rows = found.split([int(n) for n in batch.lengths[chunk.rows]])
        exact.require_all({str(int(r)): row for r, row in zip(chunk.rows, rows, strict=True)}, format=format)
    found = learn(engine, batch, tokens=tokens, spread=0.0)
    if family == "llama":  # not tied
        table = next(name for name, p in engine.model.named_parameters() if p is table_of(engine.model).weight)
        assert table not in exact.values and not found.pop(table, torch.zeros(1)).any()
    exact.require_all(found, format=format)


@pytest.mark.usefixtures("kind")
@pytest.mark.slow
def test_a_share_of_nothing_or_of_the_same_token_changes_no_bit() -> None:
    engine = engine_of("llama")
    plain = mixture(0.0)
    same = dataclasses.replace(plain, blend_ids=plain.ids, blend_share=np.full(len(plain.ids), 0.4, np.float32))
    bare = dataclasses.replace(plain, blend_ids=None, blend_share=None)
    outs = []
    for batch in (plain, same, bare):
        (chunk,) = engine.chunks(batch, tokens=10_000)
        with torch.no_grad():
            outs.append(engine.forward(chunk, Want()).logp)
    assert torch.equal(outs[0], outs[2]) and torch.equal(outs[1], outs[2])
    table = next(name for name, p in engine.model.named_parameters() if p is table_of(engine.model).weight)
    still, moving = learn(engine, plain), naive(engine, bare)
    assert not still.pop(table, torch.zeros(1)).any() and moving.values[table].any()
    moving.require_all(still)


@pytest.mark.usefixtures("kind")
@pytest.mark.parametrize("tokens", [10_000, 25])
def test_the_likeliest_token_is_the_first_of_those(tokens: int) -> None:
    engine = engine_of("qwen3")
    contexts, answers = rows_of(LENGTHS, groups=3)
    for chunk in engine.chunks(batch_of(contexts, answers, temperature=0.7), tokens=tokens):
        with torch.no_grad():
            out = engine.forward(chunk, Want(likeliest=1))
        every = [naive_log_probs(engine.model, contexts[int(r)], answers[int(r)]) for r in chunk.rows]
        assert out.likeliest is not None
        assert out.likeliest.tolist() == [[int(i)] for row in every for i in row.argmax(-1)]


@pytest.mark.usefixtures("kind")
def test_of_equal_tokens_the_first_is_the_likeliest() -> None:
    engine = engine_of("llama")
    state = engine.state()
    head = next(name for name in state if "lm_head" in name and name.startswith("parameter/"))
    engine.load({**state, head: torch.zeros_like(state[head])})
    (chunk,) = engine.chunks(batch_of(*rows_of([4, 3])), tokens=100)
    with torch.no_grad():
        assert engine.forward(chunk, Want(likeliest=1)).likeliest.tolist() == [[0]] * 7  # type: ignore[union-attr]


def test_guesses_are_those_after_the_answers_own_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all rows, in a batch cut into chunks; tokens of an environment are read as they are."""
    register(monkeypatch)
    recipe, engine = recipe_of("ift", max_new=4, num_prompts=3, warmup_steps=0, num_steps=1), policy("fp32", vocab=5)
    phases, models = phases_of(recipe), models_for(recipe, engine)
    episodes, _ = phases.collect(models, phases.ask(models, phases.source(Memory(0)), Memory(0)), Memory(0))
    rows = phases.curate(models, episodes, Memory(0))
    reply = dataclasses.replace(episodes[0].segments[0], origin=np.full(2, Origin.ENV, np.int8))
    rows[0] = rows[0].mark(episode=dataclasses.replace(episodes[0], segments=(reply,)))
    found, _ = guesses(rows, models=models, micro_tokens=5, share=0.25)
    for i, row in enumerate(found):
        ids = row.episode.stream("ids").astype(np.int32)
        every = naive_log_probs(engine.model, row.episode.request.context, ids)
        assert row.blend_ids is not None and row.blend_ids.tolist() == every.argmax(-1).tolist()
        assert row.blend_share is not None and row.blend_share.tolist() == [0.0 if i == 0 else 0.25] * len(ids)


# The loss


def places() -> list[list[int]]:
    """Of each answer of `world` where its tokens that train stand."""
    return [[i for i, c in enumerate(parts) if c == "p"] for members in SHAPES.values() for parts, _ in members]


def ift_formula(answers: Sequence[Answer], gamma: float, form: str) -> Tensor:
    """Row by row with two loops. B = all rows."""
    total = torch.zeros((), dtype=torch.float64)
    for answer, at in zip(answers, places(), strict=True):
        n = [-p for p in answer.logp]
        if not n:
            continue
        if form == "sum":
            c = [sum(gamma ** (t - s) for s in range(t + 1) if s in at) for t in at]
        else:
            m = [x.detach() for x in n] if form == "detached" else n
            c = [sum(gamma ** (s - t) * m[j] for j, s in enumerate(at) if s >= t) for t in at]
        scale = len(n) / sum(c)
        total = total + answer.advantage * sum(scale * x * y for x, y in zip(c, n, strict=True)) / len(n)
    return total / len(answers)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("form", ["product", "detached", "sum"])
@pytest.mark.parametrize("gamma", [0.95, 0.3, 1.0])
@pytest.mark.thin(4)
def test_the_loss_is_the_product_with_the_discounted_future(seed: int, form: str, gamma: float) -> None:
    """The weight's own gradient with it, unless the weight is given."""
    goal = Objective(whole=Propagated(gamma=gamma, form=form), aggregate=SequenceMean())  # type: ignore[arg-type]
    world(seed).require(goal, lambda answers: ift_formula(answers, gamma, form))


@pytest.mark.parametrize("form", ["product", "sum"])
def test_without_a_discount_it_is_likelihood(form: str) -> None:
    def likelihood(answers: Sequence[Answer]) -> Tensor:
        tokens = sum(a.length for a in answers)
        return -sum((a.advantage * a.logp.sum() for a in answers), torch.zeros(())) / tokens

    goal = Objective(whole=Propagated(gamma=0.0, form=form), aggregate=TokenMean())  # type: ignore[arg-type]
    world(3).require(goal, likelihood)


def test_by_hand() -> None:
    """n = (1, 2, 4), gamma 0.5: C = (3, 4, 4), L = (3 + 8 + 16) / 11. With S = sum C and C' the derivatives of C,
    dL/dn_k = (C_k + sum_t C'_tk n_t - L sum_t C'_tk) / S.
    """
    leaf = torch.tensor([-1.0, -2.0, -4.0], dtype=torch.float64)
    rows = [[1.0, 0.5, 0.25], [0.0, 1.0, 0.5], [0.0, 0.0, 1.0]]
    c, n, value = (3.0, 4.0, 4.0), (1.0, 2.0, 4.0), 27 / 11
    expected = [
        (c[k] + sum(rows[t][k] * n[t] for t in range(3)) - value * sum(rows[t][k] for t in range(3))) / 11
        for k in range(3)
    ]
    made = world(0, shapes={"g": [("ppp", True)]})
    (name,) = made.table(None).logp
    table = made.table(None)
    table.logp = {name: leaf.tolist()}
    made.table = lambda cut: table
    made.rows[0] = made.rows[0].mark(advantage=np.ones(3, np.float32))
    (found,) = made.learnt(Objective(whole=Propagated(gamma=0.5), aggregate=SequenceMean()))
    np.testing.assert_allclose(found, [-g for g in expected], rtol=1e-6)


@pytest.mark.parametrize(("form", "falls"), [("product", True), ("detached", False), ("sum", False)])
def test_the_gradient_of_the_weight_unlearns_what_is_much_surer_than_its_answer(form: str, falls: bool) -> None:
    """n = (2, 2, 0.01), gamma 0.9: C = (3.808, 2.009, 0.01), S = 5.827, L = 1.9966. For the last token
    (0.01 + 1.62 + 1.8 + 0.01 - 2.71 L) / S = (3.44 - 5.4107) / 5.827 < 0: the surer, the worse.
    """
    made = world(0, shapes={"g": [("ppp", True)]})
    table = made.table(None)
    table.logp = {name: [-2.0, -2.0, -0.01] for name in table.logp}
    made.table = lambda cut: table
    made.rows[0] = made.rows[0].mark(advantage=np.ones(3, np.float32))
    (found,) = made.learnt(Objective(whole=Propagated(gamma=0.9, form=form), aggregate=SequenceMean()))  # type: ignore[arg-type]
    assert (found[:2] < 0).all() and (found[2] > 0) == falls
    if falls:
        assert found[2] == pytest.approx((5.4107 - 3.44) / 5.827, rel=1e-3)


@settings(max_examples=60)
@given(
    lengths=st.lists(st.integers(0, 9), min_size=1, max_size=5),
    gamma=st.sampled_from([0.0, 0.5, 0.95, 1.0]),
    seed=st.integers(0, 99),
)
def test_the_discounted_future_of_packed_rows(lengths: list[int], gamma: float, seed: int) -> None:
    random = np.random.default_rng(seed)
    values = [random.normal(size=n) for n in lengths]
    row = torch.from_numpy(np.repeat(np.arange(len(lengths)), lengths))
    found = discounted(torch.from_numpy(np.concatenate(values)), row, gamma)
    expected = []
    for own in values:
        total, back = 0.0, []
        for x in own[::-1]:
            total = x + gamma * total
            back.append(total)
        expected += back[::-1]
    np.testing.assert_allclose(found, expected, atol=1e-9)


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), gamma=st.sampled_from([0.5, 0.95]), factor=st.floats(0.5, 2.0))
def test_the_loss_is_a_mean_of_the_tokens_losses(seed: int, gamma: float, factor: float) -> None:
    """Between the least and the largest, and in proportion to all of them: n -> x n makes it x times as large."""
    n = torch.from_numpy(np.random.default_rng(seed).uniform(0.1, 5.0, 7))

    def loss(n: Tensor) -> float:
        c = discounted(n, torch.zeros(7, dtype=torch.int64), gamma)
        return float((c * n).sum() / c.sum())

    assert n.min() <= loss(n) <= n.max()
    assert loss(factor * n) == pytest.approx(factor * loss(n))


# The recipe


@pytest.mark.slow
def test_it_reads_what_it_guesses_and_learns_in_steps_of_one_update(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)
    recipe = recipe_of("ift", max_new=4, num_prompts=4, warmup_steps=0, num_steps=2)
    engine = policy("fp32", vocab=5)
    before = {name: value.clone() for name, value in engine.state().items() if name.startswith("parameter/")}
    notes, memory = run(recipe, engine)
    (batch,) = notes.batches[0]
    assert (
        batch.blend_ids is not None and batch.blend_share is not None and (batch.blend_share == np.float32(0.2)).all()
    )
    assert memory.budget.generated_tokens == 0 and memory.budget.optimiser_steps == 2
    assert any((engine.state()[name] != value).any() for name, value in before.items())


def test_the_share_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other weights come of another share."""
    register(monkeypatch)
    recipe = recipe_of("ift", max_new=4, num_prompts=4, warmup_steps=0, num_steps=2, learning_rate=0.01)
    spans = [Span(Letters().render("a"), np.array([1, 0], np.int32))]
    found = []
    for share in (0.0, 0.2, 0.5):
        (part,) = recipe.mechanism.forwards
        mechanism = dataclasses.replace(recipe.mechanism, forwards=(dataclasses.replace(part, share=share),))  # type: ignore[call-arg]
        engine = policy("fp32", vocab=5)
        run(dataclasses.replace(recipe, mechanism=mechanism), engine)
        found.append(float(engine.score(spans)[0].logp.sum()))
    assert len(set(found)) == 3


@pytest.mark.slow
def test_a_run_that_is_stopped_goes_on_to_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)
    recipe = recipe_of("ift", max_new=4, num_prompts=4, warmup_steps=0, num_steps=4, num_minibatches=2)
    require_resumable(recipe, lambda: policy("fp32", vocab=5), after=2)
