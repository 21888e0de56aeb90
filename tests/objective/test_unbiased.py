"""Estimators against the gradient that they claim, with every outcome enumerated: two tokens of three each, so nine
answers, groups of two and three. The policy is a table of logits, one row for each beginning.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from tiny import Table, batch_of, episode, recipe_of, segment, update
from torch import Tensor

from assay.objective import Objective, Open, SequenceRatio, SequenceSum, TokenRatio
from assay.objective.gates import Plain
from assay.recipe import Recipe
from assay.types import Row

ANSWERS = list(itertools.product(range(3), range(3)))
generator = torch.Generator().manual_seed(3)
LOGITS = torch.randn(4, 3, generator=generator, dtype=torch.float64)
BEFORE = LOGITS + 0.7 * torch.randn(4, 3, generator=generator, dtype=torch.float64)  # an older policy
RIGHT = {(0, 1), (2, 2), (1, 0)}


def logp_of(logits: Tensor) -> dict[tuple[int, ...], Tensor]:
    """The log-probs of both tokens of every answer."""
    rows = logits.log_softmax(-1)
    return {(a, b): torch.stack([rows[0, a], rows[1 + a, b]]) for a, b in ANSWERS}


def gradient(of: Callable[[Tensor], Tensor]) -> np.ndarray:
    """d of / d logits."""
    leaf = LOGITS.clone().requires_grad_()
    of(leaf).backward()
    assert leaf.grad is not None
    return leaf.grad.numpy().ravel()


@functools.cache
def scores() -> dict[tuple[int, ...], np.ndarray]:
    """d log pi(token) / d logits for both tokens of every answer: [2, 12]."""
    return {
        answer: np.stack([gradient(lambda x, a=answer, t=t: logp_of(x)[a][t]) for t in range(2)]) for answer in ANSWERS
    }


def success(logits: Tensor) -> Tensor:
    """p, the chance of a right answer."""
    return sum((logp_of(logits)[a].sum().exp() for a in RIGHT), torch.zeros(()))


def expected_ascent(
    recipe: Recipe, size: int, sampled_by: Tensor = LOGITS, *, beside: Sequence[Row] = ()
) -> np.ndarray:
    """The mean over all groups of what the recipe's loss goes down by, sampled by one policy, trained with another.

    Rows `beside` a group are compared with and not trained.
    """
    now = {a: v.tolist() for a, v in logp_of(LOGITS).items()}
    old = {a: v.numpy() for a, v in logp_of(sampled_by).items()}
    total = np.zeros(12)
    for group in itertools.product(ANSWERS, repeat=size):
        chance = float(np.exp(sum(old[a].sum() for a in group)))
        rows = []
        for i, answer in enumerate(group):
            known = old[answer].astype(np.float32)
            written = segment([1, 1], old=known, mu=known)
            rows.append(Row(episode([written], sample=i, reward=float(answer in RIGHT)), old=known))
        names = [row.episode.request.id for row in rows]
        table = Table({name: now[answer] for name, answer in zip(names, group, strict=True)})
        update(table, batch_of(recipe, [*rows, *beside]), recipe.mechanism.objective, recipe.scale)
        for name, answer in zip(names, group, strict=True):
            if name in table.coefficients:
                total -= chance * table.coefficients[name] @ scores()[answer]
    return total


def bare(name: str, **objective: Any) -> Recipe:
    """The recipe without the terms and forwards that have nothing to do with its estimator."""
    recipe = recipe_of(name, max_new=2, num_minibatches=1, num_epochs=1)
    goal = dataclasses.replace(recipe.mechanism.objective, regularise=(), extra=(), **objective)
    mechanism = dataclasses.replace(recipe.mechanism, forwards=(), shape=(), objective=goal)
    return dataclasses.replace(recipe, mechanism=mechanism)


TRUE = gradient(success)


@pytest.mark.parametrize(
    ("name", "size", "factor"),
    [
        ("reinforce", 1, 1.0),
        ("rloo", 2, 1.0),
        pytest.param("rloo", 3, 1.0, marks=pytest.mark.slow),
        ("dr-grpo", 2, 1 / 2 / 2),  # (G - 1) / G, and 1 / L of the fixed length
        pytest.param("dr-grpo", 3, 2 / 3 / 2, marks=pytest.mark.slow),
    ],
)
def test_on_policy_the_mean_is_the_gradient_of_success(name: str, size: int, factor: float) -> None:
    np.testing.assert_allclose(expected_ascent(bare(name), size), factor * TRUE, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("worth", [0.0, 0.25, 1.0])
def test_a_greedy_baseline_of_any_worth_is_without_bias(worth: float) -> None:
    greedy = Row(episode([1, 1], sample=9, reward=worth)).mark(tag="greedy", in_loss=False, in_denominator=False)
    found = expected_ascent(bare("remax"), 1, beside=[greedy])
    np.testing.assert_allclose(found, TRUE, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("size", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_maxrl_follows_its_truncation_of_the_likelihood(size: int) -> None:
    """grad p [1 - (1 - p)^(N - 1)] / p; a mean over equally long answers of two tokens halves it."""
    p = float(success(LOGITS))
    expected = TRUE * (1 - (1 - p) ** (size - 1)) / p / 2
    np.testing.assert_allclose(expected_ascent(bare("maxrl"), size), expected, rtol=1e-5, atol=1e-7)


def test_of_two_answers_the_standard_deviation_is_a_factor() -> None:
    """Binary rewards, N = 2, ddof 1: the std is 1 / sqrt 2 where they differ, so the mean is sqrt 2 / 2 times the
    gradient, and half of that by the mean over two tokens.
    """
    found = expected_ascent(bare("grpo"), 2)
    np.testing.assert_allclose(found, TRUE * 2**0.5 / 2 / 2, rtol=1e-4, atol=1e-7)


def test_off_policy_the_true_ratio_is_unbiased_and_that_of_tokens_is_not() -> None:
    """E_old[W R psi] = grad p; neither the ratios of single tokens nor none at all give that."""
    goal: dict[str, Any] = {"aggregate": SequenceSum(), "gate": Plain()}
    whole = bare("reinforce", ratio=SequenceRatio(of="product"), **goal)
    np.testing.assert_allclose(expected_ascent(whole, 1, BEFORE), TRUE, rtol=1e-5, atol=1e-7)
    tokens = bare("reinforce", ratio=TokenRatio(), **goal)
    off = np.linalg.norm(expected_ascent(tokens, 1, BEFORE) - TRUE) / np.linalg.norm(TRUE)
    assert 0.02 < off < 1
    none = bare("reinforce", aggregate=SequenceSum(), gate=Open())
    worse = np.linalg.norm(expected_ascent(none, 1, BEFORE) - TRUE) / np.linalg.norm(TRUE)
    assert worse > 0.02


def test_the_bias_of_token_ratios_is_that_of_the_beginnings() -> None:
    """E_old[sum_t w_t R psi_t]: the first token's term has the second one's ratio missing, and the other way round."""
    now, old = logp_of(LOGITS), logp_of(BEFORE)
    expected = np.zeros(12)
    for answer in RIGHT:
        ratio = (now[answer] - old[answer]).exp().numpy()
        expected += float(old[answer].sum().exp()) * (ratio @ scores()[answer])
    goal = bare("reinforce", ratio=TokenRatio(), aggregate=SequenceSum(), gate=Plain())
    np.testing.assert_allclose(expected_ascent(goal, 1, BEFORE), expected, rtol=1e-5, atol=1e-7)
    assert isinstance(goal.mechanism.objective, Objective)
