"""Losses in place of ratio and gate, against their formulas differentiated row by row in plain double precision."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from statistics import stdev

import numpy as np
import pytest
import torch
from engine_cases import naive_log_probs
from hypothesis import given, settings
from hypothesis import strategies as st
from off_policy import Answer, groups, world
from tiny import batch_of, episode, group_of, models_for, models_of, policy, recipe_of, take_gradient, update
from torch import Tensor
from torch.nn.functional import logsigmoid

from assay.memory import Memory
from assay.methods.flowrl.loss import FlowRL
from assay.methods.flowrl.partition import partition
from assay.methods.kimi.term import SquaredRatio
from assay.methods.pacs.loss import PACS
from assay.methods.rapid.loss import RAPID
from assay.methods.rover.loss import Rover
from assay.methods.rover.mean_logp import keep_mean_log_prob
from assay.objective import NoRatio, Objective, Open, SequenceMean, SequenceSum, TokenMean
from assay.part import Aggregate
from assay.types import Row

seeds = pytest.mark.parametrize("seed", [0, 1, 2])


# PACS


def pacs_formula(answers: Sequence[Answer], beta: float, *, balanced: bool) -> Tensor:
    total = torch.zeros((), dtype=torch.float64)
    for members in groups(answers):
        moved = [beta * (a.logp - a.old).sum() for a in members]
        right = sum(a.right for a in members)
        for i, a in enumerate(members):
            score = moved[i] - sum(moved[:i] + moved[i + 1 :]) / (len(members) - 1)  # type: ignore[operator]
            weight = 1.0
            if balanced and 0 < right < len(members):
                weight = len(members) / (2 * (right if a.right else len(members) - right))
            total = total - weight * logsigmoid(score if a.right else -score)
    return total / len(answers)


@seeds
@pytest.mark.parametrize("balanced", [True, False])
def test_pacs(seed: int, balanced: bool) -> None:
    goal = Objective(whole=PACS(beta=0.7, balanced=balanced))
    world(seed).require(goal, lambda answers: pacs_formula(answers, 0.7, balanced=balanced))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 4), st.booleans()), min_size=2, max_size=8), st.integers(0, 99))
@pytest.mark.slow
def test_pacs_without_class_weights_begins_as_leave_one_out(spec: list[tuple[int, bool]], seed: int) -> None:
    """On policy: - (R_i - mean of the others) / B on each token, the sums of RLOO; with weights it is divided by
    4 p (1 - p).
    """
    made = world(seed, on_policy=True, shapes={"g": [("p" * n, right) for n, right in spec]})
    rewards = [float(right) for _, right in spec]
    count, p = len(spec), sum(rewards) / len(spec)
    for balanced in (False, True):
        share = 4 * p * (1 - p) if balanced and 0 < p < 1 else 1.0
        for one, reward in zip(made.learnt(Objective(whole=PACS(1.0, balanced))), rewards, strict=True):
            advantage = reward - (sum(rewards) - reward) / (count - 1)
            np.testing.assert_allclose(one, -advantage / count / share, rtol=1e-5, atol=1e-7)


def gradient_of(name: str, objective: Objective | None = None) -> Tensor:
    """Of the first step of a recipe on the present policy's own answers."""
    engine = policy("fp64")
    recipe = recipe_of(name, num_minibatches=1, num_epochs=1)
    answers = ([1, 2, 0], [3, 0], [4, 4, 4], [2, 1]), ([0], [2, 3, 1, 0], [1, 0])
    rows = [
        Row(episode(answer, group=f"g{g}", sample=i, reward=float(i == g)))
        for g, members in enumerate(answers)
        for i, answer in enumerate(members)
    ]
    taken: list[Tensor] = []

    def step(*, lr: float, clip: float | None, moments: str = "") -> dict[str, float]:
        taken.append(take_gradient(engine))
        return {"grad_norm": 1.0, "skipped": 0.0}

    engine.step = step  # type: ignore[method-assign]
    update(engine, batch_of(recipe, rows), objective or recipe.mechanism.objective, recipe.scale)
    return taken[0]


@pytest.mark.parametrize(
    ("name", "goal", "like", "same", "factor"),
    [
        ("pacs", Objective(whole=PACS(1.0, balanced=False)), "rloo", None, 1.0),
        ("rover", None, "dr-grpo", TokenMean(), 2.0),
        ("kimi-k1.5", None, "dr-grpo", SequenceSum(), 1.0),
        *((f"rpg-{d}", None, "dr-grpo", TokenMean(), 1.0) for d in ("ufkl", "urkl")),
        *((f"rpg-{d}-reinforce", None, "dr-grpo", TokenMean(), 1.0) for d in ("ufkl", "urkl")),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_on_policy_a_step_is_reinforce_with_a_baseline(
    name: str, goal: Objective | None, like: str, same: Aggregate | None, factor: float
) -> None:
    """Divergences without a normaliser are silent at the old policy, whatever their weight."""
    plain = None if same is None else Objective(ratio=NoRatio(), gate=Open(), aggregate=same)
    expected = factor * gradient_of(like, plain)
    assert expected.norm() > 1e-3
    assert (gradient_of(name, goal) - expected).norm() <= 1e-6 * expected.norm()


# RAPID


def rapid_formula(answers: Sequence[Answer]) -> Tensor:
    total = torch.zeros((), dtype=torch.float64)
    for members in groups(answers):
        rewards = [float(a.right) for a in members]
        if len(set(rewards)) == 1:
            continue
        use = [min(math.exp(float((a.logp - a.old).mean().detach())), 2.0) for a in members]
        value = sum(u * r for u, r in zip(use, rewards, strict=True)) / sum(use)
        for a, u, r in zip(members, use, rewards, strict=True):
            total = total - u * (r - value) / (stdev(rewards) + 0.3) * a.logp.mean()
    return total / len(answers)


@seeds
def test_rapid(seed: int) -> None:
    world(seed).require(Objective(whole=RAPID(cap=2.0, epsilon=0.3)), rapid_formula)


def test_rapid_by_hand() -> None:
    """Rewards 1, 0 at ratios 1/2 and 4, held at 2: the value is 0.5 / 2.5, the deviation sqrt(1/2)."""
    shapes = {"g": [("p", True), ("p", False)]}
    made = world(shapes=shapes)
    for row, answer, ratio in zip(made.rows, made.answers, (0.5, 4.0), strict=True):
        row.old[:] = answer.logp.detach().numpy() - math.log(ratio)  # type: ignore[index]
    found = made.learnt(Objective(whole=RAPID(epsilon=0.0)))
    np.testing.assert_allclose(np.concatenate(found), [-0.5 * 0.8 * 2**0.5 / 2, 2 * 0.2 * 2**0.5 / 2], rtol=1e-5)


def test_rapid_of_answers_that_the_policy_has_left_altogether_is_a_number() -> None:
    """Both mean log-ratios are held at -20: each weighs e^-20, their value is 1/2, their deviation sqrt(1/2)."""
    made = world(shapes={"g": [("p", True), ("p", False)]})
    for row, answer in zip(made.rows, made.answers, strict=True):
        row.old[:] = answer.logp.detach().numpy() + 900.0  # type: ignore[index]
    found = np.concatenate(made.learnt(Objective(whole=RAPID(epsilon=0.0)))) / math.exp(-20)
    np.testing.assert_allclose(found, [-(0.5**0.5) / 2, 0.5**0.5 / 2], rtol=1e-5)


# Kimi


@seeds
def test_the_pull_of_the_squared_log_ratio_of_an_answer(seed: int) -> None:
    goal = Objective(ratio=NoRatio(), gate=Open(), aggregate=SequenceSum(), regularise=(SquaredRatio(weight=0.3),))

    def formula(answers: Sequence[Answer]) -> Tensor:
        each = [-a.advantage * a.logp.sum() + 0.15 * (a.logp - a.old).sum() ** 2 for a in answers]
        return torch.stack(each).sum() / len(answers)

    world(seed).require(goal, formula)


# ROVER


@seeds
def test_rover(seed: int) -> None:
    def formula(answers: Sequence[Answer]) -> Tensor:
        total = torch.zeros((), dtype=torch.float64)
        for a in answers:
            for t in range(a.length):
                after = float(a.drift[t + 1]) if t + 1 < a.length else 0.0
                total = total + (0.8 * (a.logp[t] - a.old[t]) - a.advantage - 0.8 * after) ** 2
        return total / sum(a.length for a in answers)

    world(seed).require(Objective(whole=Rover(scale=0.8), aggregate=TokenMean()), formula)


@pytest.mark.parametrize("precision", ["fp64", "fp32", "native"])
def test_the_mean_over_the_vocabulary_is_kept_before_the_update(precision: str) -> None:
    """From the dense distributions; a row that needed no `old` needs none of it."""
    engine = policy(precision)
    rows = [row.mark(old=np.zeros(len(row.episode), np.float32)) for row in group_of([1.0, 0.0], lengths=[3, 1])]
    moved = dataclasses.replace(rows[0].episode, context=np.array([4, 4, 4], np.int32))
    rows[0] = rows[0].mark(episode=moved)  # it was sampled under another context than it is trained under
    rows += group_of([1.0], name="fresh")
    found, _ = keep_mean_log_prob(rows, models=models_of(engine), micro_tokens=5)
    for row in found[:2]:
        request = row.episode.request
        ids = row.episode.stream("ids").astype(np.int32)
        every = naive_log_probs(engine.model, request.context, ids, request.temperature)
        np.testing.assert_allclose(row.weights["mean_logp"], every.mean(-1).detach().numpy(), rtol=1e-5)
    assert "mean_logp" not in found[2].weights


def test_random_policy_values_point_to_every_way_that_is_right() -> None:
    """A tree of depth 3 and 4 branches: following any action of the greatest value of the uniform policy is always
    right, and sampling from softmax(Q / tau) with a small tau finds all right leaves.
    """
    random = np.random.default_rng(0)
    leaves = (random.random((4, 4, 4)) < 0.1).astype(float)
    assert 2 <= leaves.sum() <= 12
    values = [leaves.mean((1, 2)), leaves.mean(2), leaves]
    reached = np.ones(())
    for value in values:
        share = np.exp(value / 1e-3 - (value / 1e-3).max(-1, keepdims=True))
        reached = reached[..., None] * share / share.sum(-1, keepdims=True)
    assert (reached * leaves).sum() == pytest.approx(1.0)
    best = values[0] == values[0].max()
    assert ((reached > 1e-6).any((1, 2)) == best).all()


# FlowRL


@seeds
def test_flowrl(seed: int) -> None:
    def formula(answers: Sequence[Answer]) -> Tensor:
        total = torch.zeros((), dtype=torch.float64)
        for a in answers:
            if a.length:
                ratio = min(max(math.exp(float((a.logp - a.old).sum().detach())), 0.7), 1.4)
                residual = a.partition + a.logp.mean() - 15 * a.advantage - a.ref.mean()
                total = total + ratio * residual**2
        return total / len(answers)

    world(seed).require(Objective(whole=FlowRL(beta=15.0, low=0.3, high=0.4), aggregate=SequenceMean()), formula)


@pytest.mark.slow
def test_the_normaliser_goes_to_the_mean_gap_of_its_question() -> None:
    """Groups whose log ref - log pi is 0.5 and -1 on average: log Z learns these, from zero."""
    recipe = recipe_of("flowrl", learning_rate=0.05, num_minibatches=1, warmup_steps=0, num_steps=1000)
    models = models_for(recipe, policy("fp32"))
    gaps = {"a": [0.2, 0.8], "d": [-1.5, -0.5]}
    rows = [
        Row(episode([1, 2], group=name, sample=i, prompt=name)).mark(
            old=np.full(2, -1.0, np.float32), ref=np.full(2, -1.0 + gap, np.float32)
        )
        for name, members in gaps.items()
        for i, gap in enumerate(members)
    ]
    settings = {"models": models, "scale": recipe.scale, "micro_tokens": 1000, "model": "partition", "rate": 1.0}
    first, _ = partition(rows, memory=Memory(0), **settings)
    assert all((row.weights["partition"] == 0).all() for row in first)
    found, stats = first, {}
    for _ in range(60):
        found, stats = partition(rows, memory=Memory(0), **settings)
    for row, expected in zip(found, [0.5, 0.5, -1.0, -1.0], strict=True):
        np.testing.assert_allclose(row.weights["partition"], expected, atol=0.02)
    assert stats["partition/loss"] == pytest.approx((2 * 0.09 + 2 * 0.25) / 4 / 2, abs=0.01)
