"""A reference that follows the policy."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import torch
from kl_runs import Pair, parameters, small
from tiny import Notes, models_for, policy, register, stages_of

from assay.loop import train
from assay.memory import Memory


@pytest.fixture(autouse=True)
def task(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def test_a_reference_that_is_mixed_into() -> None:
    """After the second and the fourth step it is 0.6 of the way from where it was to the policy."""
    recipe = small("kl-ema")
    moving = tuple(dataclasses.replace(part, every=2) for part in recipe.mechanism.remember)  # type: ignore[call-arg]
    recipe = dataclasses.replace(recipe, mechanism=dataclasses.replace(recipe.mechanism, remember=moving))
    models = models_for(recipe, policy("fp32", vocab=4))
    where: list[Pair] = []

    class Watch(Notes):
        def step(self, memory: Any, models: Any, episodes: Any, rows: Any, batches: Any, stats: Any) -> None:
            where.append((parameters(models["policy"]), parameters(models["reference"])))

    start = parameters(models["reference"])
    train(stages_of(recipe), models, Memory(0), Watch())
    expected = start
    for step, (now, reference) in enumerate(where):
        expected = expected + 0.6 * (now - expected) if step % 2 else expected
        torch.testing.assert_close(reference, expected, rtol=1e-5, atol=1e-6)
    assert (where[-1][1] - start).norm() > 1e-3
