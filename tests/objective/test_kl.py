"""KL terms: what each estimator's gradient is, by enumeration; what it is measured from; entropy kept near a target."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, get_args

import numpy as np
import pytest
import torch
from engine_cases import naive_log_probs
from hypothesis import given, settings
from hypothesis import strategies as st
from kl_runs import Pair, engine
from tiny import (
    Letters,
    Table,
    episode,
    loss_and_gradient,
    models_of,
    recipe_of,
    register,
    segment,
    take_gradient,
    update,
)
from torch import Tensor

from assay.credit import pack
from assay.credit.gae import gae
from assay.forwards import TokenKL
from assay.forwards.critic import token_kl
from assay.objective import KL, NoRatio, Objective, Open, SequenceSum
from assay.objective.terms import Estimator, entropy, kl
from assay.recipe import Mechanism, Recipe
from assay.types import Origin, Row

ESTIMATORS: tuple[Any, ...] = get_args(Estimator)


def forward(now: Tensor, ref: Tensor) -> Tensor:
    """KL(policy, reference) of a state from its log-probs."""
    return (now.exp() * (now - ref)).sum(-1)


def backward(now: Tensor, ref: Tensor) -> Tensor:
    """KL(reference, policy)."""
    return (ref.exp() * (ref - now)).sum(-1)


RIGHT = ("k2", "k1+", "k3+", "weighted-k2", "weighted-k3")  # on policy


FOLLOWS: dict[str, Callable[[Tensor, Tensor], Tensor]] = dict.fromkeys(RIGHT, forward) | {"k3": backward}


FOLLOWS["k1"] = lambda now, ref: 0.0 * now.sum(-1)


def tables(seed: int, states: int, count: int = 3) -> list[Tensor]:
    """So many policies over five tokens in each of these states, as logits."""
    random = np.random.default_rng(seed)
    return [torch.from_numpy(random.normal(0, 1, (states, 5))) for _ in range(count)]


def term(logp: Tensor, ref: Tensor, old: Tensor, **values: Any) -> Tensor:
    streams = {"ref": ref, "origin": torch.full(logp.shape, Origin.POLICY)}
    view: Any = SimpleNamespace(logp=logp, old=old, streams=streams)
    return kl(view, **{"weight": 1.0, "anchor": "reference", **values})


# The table of estimators, by enumeration


@pytest.mark.parametrize("estimator", [e for e in ESTIMATORS if e != "distance"])
def test_gradients_on_policy_on_a_bandit_of_five_arms(estimator: str) -> None:
    (theta, ref, _) = tables(0, 1)
    theta.requires_grad_()
    now, ref = theta.log_softmax(-1)[0], ref.log_softmax(-1)[0]
    each = term(now, ref, now.detach(), estimator=estimator)
    (found,) = torch.autograd.grad((now.detach().exp() * each).sum(), theta, retain_graph=True)
    (expected,) = torch.autograd.grad(FOLLOWS[estimator](now, ref), theta)
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-12)
    assert estimator == "k1" or expected.norm() > 0.1


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("moved", [False, True])
def test_gradients_on_a_tree_of_three_steps(estimator: str, moved: bool) -> None:
    """Sequences by the old policy: the sum over states by its own probability, whatever the policy is now. Without the
    ratio that holds only where they are the same.
    """
    states = 1 + 5 + 25
    theta, ref, old = tables(1, states)
    old = old if moved else theta.clone()
    theta.requires_grad_()
    now, ref, old = (x.log_softmax(-1) for x in (theta, ref, old))
    total, reached = torch.zeros((), dtype=torch.float64), torch.zeros(states, dtype=torch.float64)
    for path in itertools.product(range(5), repeat=3):
        state = torch.tensor([0, 1 + path[0], 6 + 5 * path[0] + path[1]])
        token = torch.tensor(path)
        chance = old[state, token].sum().exp()
        total = (
            total + chance * term(now[state, token], ref[state, token], old[state, token], estimator=estimator).sum()
        )
        reached[state] += chance
    (found,) = torch.autograd.grad(total, theta, retain_graph=True)
    follows = FOLLOWS.get(estimator)
    if follows is None:
        return
    (expected,) = torch.autograd.grad((reached * follows(now, ref)).sum(), theta)
    gap = float((found - expected).norm() / max(1.0, float(expected.norm())))
    assert gap < 1e-9 if not moved or estimator.startswith("weighted") else gap > 1e-2


@pytest.mark.parametrize("estimator, mean", [("k1", True), ("k2", False), ("k3", True), ("weighted-k3", True)])
def test_values_on_policy(estimator: str, mean: bool) -> None:
    """k1 and k3 have the divergence as their mean, k2 has not."""
    theta, ref, _ = (x.log_softmax(-1)[0] for x in tables(2, 1))
    value = (theta.exp() * term(theta, ref, theta, estimator=estimator)).sum()
    assert (abs(float(value - forward(theta, ref))) < 1e-12) == mean
    weighted = term(theta, ref, tables(3, 1)[0].log_softmax(-1)[0], estimator="weighted-k3")
    assert (tables(3, 1)[0].log_softmax(-1)[0].exp() * weighted).sum() == pytest.approx(float(forward(theta, ref)))


@settings(max_examples=20, deadline=None)
@given(st.integers(-600, 600), st.floats(-3, 3))
def test_slopes_and_values_by_hand(tenths: int, delta: float) -> None:
    """For one token; beyond 20 nats the exponential is held, and the pull stays."""
    d = tenths / 10
    w, e = math.exp(delta), math.exp(min(-d, 20.0))
    table = {
        "k1": (d, 1.0),
        "k2": (d * d / 2, d),
        "k3": (e - 1 + d, 1 - e),
        "k1+": (d, d),
        "k3+": (e - 1 + d, d),
        "weighted-k2": (w * d * d / 2, w * d),
        "weighted-k3": (w * (e - 1 + d), w * d),
        "distance": (abs(d), math.copysign(1.0, d) if d else 0.0),
    }
    assert table.keys() == set(ESTIMATORS)
    for estimator, (value, slope) in table.items():
        logp = torch.tensor([0.0], dtype=torch.float64, requires_grad=True)
        found = term(logp, logp.detach() - d, logp.detach() - delta, estimator=estimator, weight=0.5)
        found.sum().backward()
        assert logp.grad is not None
        assert found.item() == pytest.approx(0.5 * value, rel=1e-6, abs=1e-9)
        assert logp.grad.item() == pytest.approx(0.5 * slope, rel=1e-6, abs=1e-9)


def test_a_default_without_a_name_is_the_right_one() -> None:
    assert KL().estimator == "weighted-k3"
    assert KL().wants == {"ref"} and not KL(anchor="old").wants


def test_the_anchor_is_the_policy_before_the_step() -> None:
    """d to the old policy of 0, log 2: k2 pushes by these; tokens of others are not pulled."""
    pieces = [segment([1, 1]), segment([1], origin=Origin.INJECTED)]
    row = Row(episode(pieces)).mark(old=np.array([-1.0, -1.0 - math.log(2), -9.0], np.float32))
    goal = Objective(
        ratio=NoRatio(),
        gate=Open(),
        aggregate=SequenceSum(),
        regularise=(KL(0.5, "k2", "old"), KL(0.1, "k1", "old")),  # type: ignore[arg-type]
        injected="train",
    )
    table = Table({row.episode.request.id: [-1.0] * 3})
    update(table, pack([row], injected={"policy"}), goal, recipe_of("grpo").scale)
    found = table.coefficients[row.episode.request.id]
    np.testing.assert_allclose(found, [0.1, 0.1 + 0.5 * math.log(2), 0.0], rtol=1e-6)


# In the reward


CONTEXT = Letters().encode("a")


def line(seed: int, answer: tuple[int, ...]) -> Tensor:
    every = naive_log_probs(engine(seed).model, CONTEXT, np.array(answer, np.int32), 1.0)
    return every.gather(-1, torch.tensor(answer)[:, None])[:, 0]


def rewarded(estimator: str, answers: list[tuple[int, ...]]) -> Tensor:
    """The mean gradient of the update with KL alone in the reward, over all answers."""
    goal = Objective(ratio=NoRatio(), gate=Open(), aggregate=SequenceSum())
    part = TokenKL(weight=0.5, estimator=estimator)  # type: ignore[arg-type]
    recipe = Recipe("test", "", "", "", Mechanism(objective=goal), recipe_of("grpo").scale)
    total: Any = 0.0
    for answer in answers:
        made = [Row(episode([segment(answer, old=line(0, answer).detach().numpy().astype("f"))]))]
        made, _ = token_kl(made, models=models_of(engine(0), engine(1)), weight=part.weight, estimator=part.estimator)
        batch = pack(gae(made, gamma=1.0, lam=1.0))
        chance = float(line(0, answer).detach().sum().exp())
        total = total + chance * loss_and_gradient(engine(0), batch, recipe)[1]
    return total


def gradient_of(value: Tensor) -> Tensor:
    value.backward()
    return take_gradient(engine(0))


@pytest.mark.slow
def test_k1_in_the_reward_has_the_gradient_of_the_sequence() -> None:
    """A token answers for all that comes after it: that of the KL between distributions of whole answers."""
    answers = [(0,), *((a, b) for a in range(1, 5) for b in range(5))]
    exact: Any = 0.0
    for answer in answers:
        now, ref = line(0, answer).sum(), line(1, answer).sum().detach()
        exact = exact + now.exp() * (now - ref)
    expected = gradient_of(0.5 * exact)
    found = rewarded("k1", answers)
    assert expected.norm() > 1e-2
    assert (found - expected).norm() <= 1e-5 * expected.norm()


def test_k2_and_k3_in_the_reward_are_no_gradients_of_the_kl() -> None:
    """k3 is the difference of the two directions, which vanishes near the reference; k2 the mean of its value times the
    score.
    """
    answers = [(i,) for i in range(5)]

    def both() -> Pair:
        now = torch.cat([line(0, a) for a in answers])
        return now, torch.cat([line(1, a) for a in answers]).detach()

    now, ref = both()
    expected = gradient_of(0.5 * (forward(now, ref) - backward(now, ref)))
    assert (rewarded("k3", answers) - expected).norm() <= 1e-4 * expected.norm()
    now, ref = both()
    score = gradient_of((now.detach().exp() * 0.5 * (now.detach() - ref) ** 2 / 2 * now).sum())
    assert (rewarded("k2", answers) - score).norm() <= 1e-4 * score.norm()


# Where a policy settles


def settled(estimator: str, reward: Tensor, ref: Tensor, *, beta: float) -> Tensor:
    """By natural steps along the exact expected gradient of reward and term, from the reference."""
    theta = ref.clone()
    for _ in range(120):
        logp = theta.requires_grad_().log_softmax(-1)
        chance = logp.detach().exp()
        pull = term(logp, ref, logp.detach(), estimator=estimator, weight=beta)
        (slope,) = torch.autograd.grad((chance * (pull - reward * logp)).sum(), theta)
        theta = theta.detach() - 0.3 / beta * slope / chance
    return theta.softmax(-1)


@pytest.mark.parametrize("estimator", RIGHT)
def test_the_fixed_point_on_a_bandit(estimator: str) -> None:
    """ref exp(R / beta) / Z."""
    ref, reward = tables(4, 1)[0].log_softmax(-1)[0], torch.tensor([1.0, 0.0, 0.5, 0.0, 0.2], dtype=torch.float64)
    expected = (ref + reward / 0.5).softmax(-1)
    torch.testing.assert_close(settled(estimator, reward, ref, beta=0.5), expected, rtol=1e-6, atol=1e-9)


def test_odds_rise_by_the_exponential_of_one_over_beta() -> None:
    """beta = 0.1 takes 0.001 to 0.957 at most; k3's own gradient settles elsewhere."""
    ref = torch.tensor([0.001, 0.999], dtype=torch.float64).log()
    reward = torch.tensor([1.0, 0.0], dtype=torch.float64)
    assert float(settled("weighted-k3", reward, ref, beta=0.1)[0]) == pytest.approx(0.957, abs=1e-3)
    spread = torch.tensor([0.3, 0.7], dtype=torch.float64).log()
    right, customary = (float(settled(e, reward, spread, beta=0.5)[0]) for e in ("k2", "k3"))
    assert right == pytest.approx(0.3 * math.exp(2) / (0.3 * math.exp(2) + 0.7), rel=1e-6)
    assert abs(right - customary) > 0.02


# A reference that moves


@pytest.fixture(autouse=True)
def task(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def test_a_term_of_weight_0_asks_for_nothing_and_pushes_nothing() -> None:
    logp = torch.tensor([-1.0, -2.0], requires_grad=True)
    view: Any = SimpleNamespace(logp=logp, streams={}, entropy=None)
    for value in (kl(view, weight=0.0, estimator="k3", anchor="reference"), entropy(view, weight=0.0)):
        logp.grad = None
        value.sum().backward()
        assert value.tolist() == [0, 0] and logp.grad is not None and logp.grad.tolist() == [0, 0]
