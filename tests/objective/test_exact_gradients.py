"""Expected gradients by enumeration of every group that a small policy can write, through the real update.

A policy over five tokens writes answers of at most two or three; every outcome is weighed with its probability, and the
mean gradient of `accumulate` is compared with that of the exact expectation, which autograd gives.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable

import numpy as np
import pytest
import torch
from engine_cases import naive_log_probs
from formulas import k3, standard
from tiny import Letters, episode, loss_and_gradient, phases_of, policy, recipe_of, take_gradient
from torch import Tensor
from typed import as_torch

from assay.engine.interface import Span
from assay.engine.torch.engine import TorchEngine
from assay.memory import Memory
from assay.objective import KL, Entropy, NoRatio, Objective, Open, SequenceSum
from assay.recipe import Mechanism, Recipe
from assay.types import Row

TAU = 0.5
CONTEXT = Letters().encode("a")
Answer = tuple[int, ...]


@functools.cache
def engine(seed: int) -> TorchEngine:
    return as_torch(policy("fp64", seed=seed, init_std=0.3))


def answers(longest: int) -> list[Answer]:
    """All that can be written: up to the end token 0, or to the limit."""
    found: list[Answer] = []
    for length in range(1, longest + 1):
        for start in itertools.product(range(1, 5), repeat=length - 1):
            found += [(*start, last) for last in ((0,) if length < longest else range(5))]
    return found


def reward_of(answer: Answer) -> float:
    """Dyadic, so that advantages are exact in the format of a batch; it depends on every token and on the length."""
    return (sum((t + 1) * a for t, a in enumerate(answer)) % 5 - len(answer)) / 4


def token_log_probs(answer: Answer) -> Tensor:
    ids = np.array(answer, np.int32)
    every = naive_log_probs(engine(0).model, CONTEXT, ids, TAU)
    return every.gather(-1, torch.tensor(answer)[:, None])[:, 0]


def gradient_of(value: Tensor) -> Tensor:
    value.backward()
    return take_gradient(engine(0))


def gradient_of_expected_reward(longest: int) -> Tensor:
    """d/dtheta sum_y p(y) R(y)."""
    probability = [token_log_probs(y).sum().exp() for y in answers(longest)]
    assert sum(probability).item() == pytest.approx(1.0, abs=1e-12)  # type: ignore[union-attr]
    return gradient_of(sum(p * reward_of(y) for p, y in zip(probability, answers(longest), strict=True)))  # type: ignore[arg-type]


def mean_gradient(recipe: Recipe, longest: int, *, samples: int, ref: dict[Answer, np.ndarray] | None = None) -> Tensor:
    """Of the library's loss over all groups of so many independent answers."""
    phases, total = phases_of(recipe), torch.zeros(0)
    with torch.no_grad():
        probability = {y: token_log_probs(y).sum().exp().item() for y in answers(longest)}
    for group in itertools.combinations_with_replacement(answers(longest), samples):
        orders = len(set(itertools.permutations(group)))
        rows = [
            Row(episode(y, sample=i, reward=reward_of(y), temperature=TAU), ref=None if ref is None else ref[y])
            for i, y in enumerate(group)
        ]
        (batch,) = phases.credit(rows, Memory(0))
        gradient = loss_and_gradient(engine(0), batch, recipe)[1]
        weight = orders * float(np.prod([probability[y] for y in group]))
        total = weight * gradient if not len(total) else total + weight * gradient
    return total


def cosine(a: Tensor, b: Tensor) -> float:
    return (a @ b / (a.norm() * b.norm())).item()


@pytest.mark.slow
def test_reinforce_is_unbiased() -> None:
    expected = gradient_of_expected_reward(3)
    found = mean_gradient(recipe_of("reinforce", max_new=3), 3, samples=1)
    assert expected.norm() > 1e-2
    assert (found + expected).norm() <= 1e-8 * expected.norm()


@pytest.mark.slow
@pytest.mark.parametrize("name, factor", [("reinforce", 1.0), ("rloo", 1.0), ("dr-grpo", 1 / 2 / 2)])
def test_expected_gradient_of_groups_of_two(name: str, factor: float) -> None:
    """Leave-one-out is unbiased; a group's own mean shrinks it by (G - 1) / G, a limit of two tokens by two."""
    expected = factor * gradient_of_expected_reward(2)
    found = mean_gradient(recipe_of(name, max_new=2), 2, samples=2)
    assert (found + expected).norm() <= 1e-8 * expected.norm()


@pytest.mark.slow
def test_group_mean_shrinks_by_g_minus_one_over_g_for_groups_of_three() -> None:
    """On answers of one token, five in all."""
    expected = gradient_of_expected_reward(1)
    for name, factor in (("rloo", 1.0), ("dr-grpo", 2 / 3)):
        found = mean_gradient(recipe_of(name, max_new=1), 1, samples=3)
        # a mean of three rewards is not a dyadic number: advantages are rounded to the format of a batch
        assert (found + factor * expected).norm() <= 2e-7 * expected.norm()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["grpo", "dapo"])
def test_division_by_the_spread_has_an_expectation_of_its_own(name: str) -> None:
    """Not the policy gradient, nor a multiple of it: what the formula says, enumerated apart from the library."""
    ref = {y: s.logp for y, s in zip(answers(2), engine(1).score(_spans(2)), strict=True)} if name == "grpo" else None
    found = mean_gradient(recipe_of(name, max_new=2), 2, samples=2, ref=ref)
    lines = {y: token_log_probs(y) for y in answers(2)}
    total = torch.zeros((), dtype=torch.float64)
    for group in itertools.product(answers(2), repeat=2):
        weight = sum(lines[y].sum() for y in group).exp().detach()  # type: ignore[union-attr]
        advantage = standard([reward_of(y) for y in group])
        for y, a in zip(group, advantage, strict=True):
            loss = -float(np.float32(a)) * (lines[y] - lines[y].detach()).exp()
            if ref is None:  # a mean over all tokens
                total = total + weight * loss.sum() / sum(map(len, group))
            else:  # of each answer, with a divergence
                near = 0.04 * k3(lines[y], torch.from_numpy(ref[y]).double())
                total = total + weight * (loss + near).sum() / (2 * len(y))
    expected = gradient_of(total)
    assert (found - expected).norm() <= 1e-8 * expected.norm()
    assert abs(cosine(found, -gradient_of_expected_reward(2))) < 0.999


def _spans(longest: int) -> list[Span]:
    return [Span(CONTEXT, np.array(y, np.int32), TAU) for y in answers(longest)]


# Regularisers on one state: answers of one token, rewards all alike, so that nothing else pushes


def regularised(part: KL | Entropy) -> Recipe:
    goal = Objective(ratio=NoRatio(), gate=Open(), aggregate=SequenceSum(), regularise=(part,))
    recipe = recipe_of("grpo", max_new=1)
    return Recipe("test", "", "", "", Mechanism(objective=goal), recipe.scale)


def log_policies() -> tuple[Tensor, Tensor]:
    """log pi with its graph, and log ref without."""
    token = np.zeros(1, np.int32)
    return (
        naive_log_probs(engine(0).model, CONTEXT, token, TAU)[0],
        naive_log_probs(engine(1).model, CONTEXT, token, TAU)[0].detach(),
    )


@pytest.mark.parametrize(
    "part, divergence",
    [
        (KL(weight=0.5, estimator="k2"), lambda lp, lr: (lp.exp() * (lp - lr)).sum()),
        (KL(weight=0.5, estimator="k3"), lambda lp, lr: (lr.exp() * (lr - lp)).sum()),
        (Entropy(weight=0.5), lambda lp, lr: (lp.exp() * lp).sum()),
    ],
    ids=["k2 is KL(policy, reference)", "k3 is KL(reference, policy)", "entropy"],
)
def test_regularisers_have_the_gradient_of_their_divergence(
    part: KL | Entropy, divergence: Callable[[Tensor, Tensor], Tensor]
) -> None:
    """In the loss, on policy. The log-probs of the reference are kept in single precision."""
    logp, logr = log_policies()
    logr = logr.float().double()
    expected = gradient_of(0.5 * divergence(logp, logr))
    ref = {(i,): logr[i : i + 1].float().numpy() for i in range(5)}
    recipe, total = regularised(part), torch.zeros_like(expected)
    for i in range(5):
        rows = [Row(episode([i], sample=j, reward=1.0, temperature=TAU), ref=ref[(i,)]) for j in range(2)]
        (batch,) = phases_of(recipe).credit(rows, Memory(0))
        total += logp[i].exp().item() * loss_and_gradient(engine(0), batch, recipe)[1]
    assert expected.norm() > 1e-3
    # the rounded reference does not sum to one: its part of k3 is off by that much
    assert (total - expected).norm() <= (1e-6 if part == KL(0.5, "k3") else 1e-9) * expected.norm()
