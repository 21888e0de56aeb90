"""A reference that is set anew with each stage."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import torch
from kl_runs import parameters, small
from tiny import Notes, models_for, policy, register, stages_of
from torch import Tensor

from assay.loop import train
from assay.memory import Memory
from assay.recipe import Stage


@pytest.fixture(autouse=True)
def task(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


@pytest.mark.slow
def test_a_reference_that_is_set_anew_with_each_stage() -> None:
    recipe = small("kl-reset")
    stages = (Stage("one"), dataclasses.replace(recipe.stages[1], name="two"))
    models = models_for(dataclasses.replace(recipe, stages=stages), policy("fp32", vocab=4))
    seen: list[Tensor] = []

    class Watch(Notes):
        def step(self, memory: Any, models: Any, episodes: Any, rows: Any, batches: Any, stats: Any) -> None:
            seen.append(parameters(models["reference"]))
            policies.append(parameters(models["policy"]))

    policies = [parameters(models["policy"])]
    train(stages_of(dataclasses.replace(recipe, stages=stages)), models, Memory(0), Watch())
    assert len(recipe.stages) == 8
    for reference, expected in zip(seen, [policies[0], policies[0], policies[2], policies[2]], strict=True):
        assert torch.equal(reference, expected)
