"""Small runs with a reference, and tables of policies."""

from __future__ import annotations

import functools
from typing import Any

import torch
from tiny import policy, recipe_of
from torch import Tensor

from assay.engine.local import LocalEngine
from assay.recipe import Recipe

Pair = tuple[Tensor, Tensor]


@functools.cache
def engine(seed: int) -> LocalEngine:
    return policy("fp64", seed=seed, init_std=0.3)


def parameters(engine: Any) -> Tensor:
    return torch.cat([value.flatten() for name, value in engine.state().items() if name.startswith("parameter/")])


def small(name: str, **changes: Any) -> Recipe:
    scale = {"num_prompts": 8, "group_size": 8, "num_steps": 4, "learning_rate": 0.02, "num_minibatches": 1}
    return recipe_of(name, max_new=4, **{**scale, **changes})
