"""Gradients of the first step of a recipe, and those of plain ones."""

from __future__ import annotations

import pytest
from tiny import batch_of, episode, policy, recipe_of, take_gradient, update
from torch import Tensor

from assay.objective import NoRatio, Objective, Open
from assay.part import Part
from assay.types import Row

seeds = pytest.mark.parametrize("seed", [0, 1, 2])


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


def require_reinforce_with_a_baseline(found: Tensor, like: str, same: Part | None = None, factor: float = 1.0) -> None:
    """A gradient of the first step is that of a plain recipe, by this aggregation."""
    plain = None if same is None else Objective(ratio=NoRatio(), gate=Open(), aggregate=same)  # type: ignore[arg-type]
    expected = factor * gradient_of(like, plain)
    assert expected.norm() > 1e-3
    assert (found - expected).norm() <= 1e-6 * expected.norm()
