"""The engine of policies over observations: it acts by the distribution that it learns, and its gradients are those of
the formula.
"""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest
import torch
from acting import engine_of, request_of, walked_by_hand

from assay.credit import pack
from assay.engine.choose import critic_of
from assay.engine.choose import engine_of as chosen
from assay.engine.interface import Want
from assay.engine.spans import span_of
from assay.engine.steps.engine import LEAST, StepsEngine, StepsValueEngine
from assay.errors import AssayError, ConfigError, DataError, UsageError
from assay.rng import Key
from assay.types import Batch, Row

SEEN = np.eye(5)[[0, 1, 2, 3, 4, 2]]
WALKS = [[1, 1], [0, 1, 1, 1], [0, 0]]


def batch_of() -> Batch:
    rows = [Row.of(walked_by_hand(actions, sample=i)) for i, actions in enumerate(WALKS)]
    return pack([row.mark(advantage=np.linspace(-1, 1, len(row.episode))) for row in rows])


def logits_of(engine: StepsEngine, seen: np.ndarray) -> torch.Tensor:
    return engine.model.head(engine.model.features(torch.from_numpy(seen).double()))


@pytest.mark.parametrize("name", ["mlp", "tabular"])
@pytest.mark.parametrize("temperature", [1.0, 0.5])
def test_actions_are_drawn_from_the_softmax_by_their_random_numbers(name: str, temperature: float) -> None:
    engine, requests = engine_of(name), [request_of(sample=i, temperature=temperature) for i in range(6)]
    p = torch.softmax(logits_of(engine, SEEN).detach() / temperature, -1).numpy()
    for u in (0.0, 0.3, 0.7, 0.999):
        made = engine.act(SEEN.astype(np.float32), requests, np.full(6, u))
        assert made.ids.tolist() == [int(u >= row[0]) for row in p]
        np.testing.assert_allclose(made.old, np.log(p[np.arange(6), made.ids]), rtol=1e-6)
        np.testing.assert_allclose(made.entropy, -(p * np.log(p)).sum(-1), rtol=1e-6)


def test_the_greedy_action_is_the_likeliest() -> None:
    engine, requests = engine_of(), [request_of(sample=i, temperature=0.0) for i in range(6)]
    made = engine.act(SEEN.astype(np.float32), requests, np.linspace(0, 0.99, 6))
    assert made.ids.tolist() == logits_of(engine, SEEN).argmax(-1).tolist()


@pytest.mark.parametrize("name", ["mlp", "tabular"])
def test_the_gradient_is_that_of_the_formula(name: str) -> None:
    """Of sum_t (A_t log pi + 0.1 H_t) by autograd on the parameters, whatever the chunks."""
    engine, batch = engine_of(name), batch_of()
    logp = torch.log_softmax(logits_of(engine, batch.seen.astype(np.float64)), -1)  # type: ignore[union-attr]
    chosen_ = logp[torch.arange(len(batch.ids)), torch.from_numpy(batch.ids).long()]
    entropy = -(logp.exp() * logp).sum(-1)
    loss = (torch.from_numpy(batch.advantage).double() * chosen_ + 0.1 * entropy).sum()
    expected = torch.autograd.grad(loss, list(engine.model.parameters()))
    for chunk in engine.chunks(batch, tokens=1):
        out = engine.forward(chunk, Want(entropy=True))
        np.testing.assert_allclose(out.logp.detach(), chosen_.detach(), rtol=1e-12)
        ((chunk.streams["advantage"] * out.logp).sum() + 0.1 * out.entropy.sum()).backward()  # type: ignore[union-attr]
        engine.backward(chunk, out)
    for parameter, gradient in zip(engine.model.parameters(), expected, strict=True):
        torch.testing.assert_close(parameter.grad, gradient, rtol=1e-12, atol=1e-14)


def test_a_critic_learns_the_gradient_of_its_squared_error() -> None:
    engine, batch = engine_of(value=True), batch_of()
    assert isinstance(engine, StepsValueEngine)
    seen = torch.from_numpy(batch.seen.astype(np.float64))  # type: ignore[union-attr]
    value = engine.model.get_submodule("value_head")(engine.model.features(seen)).squeeze(-1)
    target = torch.from_numpy(batch.advantage).double()
    named = dict(engine.model.named_parameters())
    grads = torch.autograd.grad((value - target).square().sum(), list(named.values()), allow_unused=True)
    (chunk,) = engine.chunks(batch, tokens=64)
    out = engine.forward(chunk, Want(value=True))
    assert out.value is not None
    np.testing.assert_allclose(out.value.detach(), value.detach(), rtol=1e-12)
    (out.value - target).square().sum().backward()
    engine.backward(chunk, out)
    for (name, parameter), gradient in zip(named.items(), grads, strict=True):
        expected = torch.zeros_like(parameter) if gradient is None else gradient
        torch.testing.assert_close(parameter.grad, expected, rtol=1e-10, atol=1e-12, msg=name)


def test_chunks_hold_every_row_once_and_in_order() -> None:
    rows = [Row.of(walked_by_hand(actions, sample=i)) for i, actions in enumerate(WALKS * 3000)]
    engine, batch = engine_of(), pack(rows)
    chunks = list(engine.chunks(batch, tokens=100))
    assert [row for chunk in chunks for row in chunk.rows] == list(range(len(rows))) and len(chunks) == 2
    assert all(len(chunk.batch.ids) <= LEAST for chunk in chunks)


def test_scores_are_what_the_learner_says() -> None:
    engine = engine_of()
    episodes = [walked_by_hand(actions, sample=i) for i, actions in enumerate(WALKS)]
    scores = engine.score([span_of(episode) for episode in episodes], entropy=True)
    for episode, found in zip(episodes, scores, strict=True):
        logp = torch.log_softmax(logits_of(engine, episode.stream("seen").astype(np.float64)), -1).detach()
        np.testing.assert_allclose(found.logp, logp[np.arange(len(episode)), episode.stream("ids")], rtol=1e-6)
        np.testing.assert_allclose(found.entropy, -(logp.exp() * logp).sum(-1), rtol=1e-6)  # type: ignore[arg-type]
    assert engine.score([]) == []


def test_a_state_that_was_kept_goes_on_bit_for_bit() -> None:
    def step(engine: StepsEngine) -> None:
        for chunk in engine.chunks(batch_of(), tokens=64):
            out = engine.forward(chunk, Want())
            (chunk.streams["advantage"] * out.logp).sum().backward()
            engine.backward(chunk, out)
        engine.step(lr=0.01, clip=1.0)

    first, second = engine_of(precision="fp32"), engine_of(precision="fp32")
    step(first)
    second.load(first.state())
    step(first)
    step(second)
    for a, b in zip(first.model.parameters(), second.model.parameters(), strict=True):
        assert torch.equal(a, b)


# What is refused


def test_observations_of_another_size_and_rows_without_any_are_refused() -> None:
    engine = engine_of()
    with pytest.raises(DataError, match=r"observes 5 numbers .* shape \(1, 4\)"):
        engine.act(np.zeros((1, 4), np.float32), [request_of()], np.zeros(1))
    with pytest.raises(DataError, match=r"observes 5 numbers .* none"):
        list(engine.chunks(dataclasses.replace(batch_of(), seen=None), tokens=64))


def test_prompts_and_outputs_that_actions_do_not_have_are_refused() -> None:
    engine, critic = engine_of(), engine_of(value=True)
    with pytest.raises(UsageError, match=r"env:CartPole-v1 or chain:5"):
        engine.generate([request_of()], Key(0))
    (chunk,) = engine.chunks(batch_of(), tokens=64)
    wants: tuple[Any, ...] = (Want(top_ids=True), Want(likeliest=2))
    for want in wants:
        with pytest.raises(ConfigError, match="likeliest tokens"):
            engine.forward(chunk, want)
    with pytest.raises(ConfigError, match="no value head"):
        engine.forward(chunk, Want(value=True))
    with pytest.raises(UsageError, match="values alone"):
        critic.forward(chunk, Want())
    out = engine.forward(chunk, Want())
    out.logp.sum().backward()
    engine.backward(chunk, out)
    with pytest.raises(UsageError, match="once"):
        engine.backward(chunk, out)


def test_weights_that_are_lost_are_told_with_the_request() -> None:
    engine, request = engine_of(), request_of()
    with torch.no_grad():
        engine.model.head.weight.fill_(float("nan"))
    with pytest.raises(AssayError, match=f"not finite for request {request.id}"):
        engine.act(SEEN[:1].astype(np.float32), [request], np.zeros(1))


def test_the_engine_of_the_kind_is_chosen_and_what_it_cannot_do_refused() -> None:
    network = engine_of().model
    assert chosen(network, "auto", "cpu", "auto").engine is StepsEngine
    assert critic_of(StepsEngine) is StepsValueEngine
    for wish, precision in itertools.product(("native", "auto"), ("bf16", "auto")):
        if (wish, precision) != ("auto", "auto"):
            with pytest.raises(ConfigError, match=r"Set (it|machine\.precision) to auto"):
                chosen(network, wish, "cpu", precision)  # type: ignore[arg-type]
