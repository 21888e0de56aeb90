"""Every outcome of answers of two tokens of three each: nine answers, in groups of any size. The policy is a table of
logits, one row for each beginning.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from tiny import Table, batch_of, episode, recipe_of, segment, update
from torch import Tensor

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
"""The gradient of the chance of a right answer."""
