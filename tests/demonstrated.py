"""Groups with a demonstration among the answers, and what a recipe makes of them."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import torch
from tiny import END, Table, batch_of, episode, phases_of, recipe_of, segment, update, weights_of
from worked import POOL, Signs

from assay.ask import first_requests
from assay.known import RECIPES
from assay.memory import Memory
from assay.objective.loss import loss_of
from assay.objective.survey import constants
from assay.objective.view import view_of_batch
from assay.recipe import Recipe
from assay.rng import Key
from assay.run.session import plan
from assay.source import Pool, Share
from assay.types import Batch, Origin, Request, Row

MAX_NEW = 6


def small(name: str, **scale: object) -> Recipe:
    values = {"num_prompts": 2, "group_size": 4, "num_minibatches": 1, "warmup_steps": 0, "num_steps": 4, **scale}
    return recipe_of(name, max_new=MAX_NEW, **values)


def requests(count: int = 4, problems: int = 1) -> list[Request]:
    sampling: Any = phases_of(small("grpo", group_size=count), pool=POOL, codec=Signs())
    made = sampling.source(Memory(0))[:problems]
    return first_requests(made, Memory(0), first=0, samples=count, sampling=_sampling(), codec=Signs())


def _sampling() -> Any:
    from assay.ask import Sampling

    return Sampling(MAX_NEW, 1.0, 1.0, 0, 0.0)


def planned(recipe: str, task: str = "countdown", level: int = 3, **settings: str) -> Any:
    pool = Pool((Share(task, (level,)),))
    return plan(RECIPES[recipe], model="x/y", pool=pool, profile="laptop", overrides=settings)


def mixed(rewards: list[float], tag: str = "", **marks: Any) -> list[Row]:
    """Own answers of two tokens and, last, a demonstration of three; log-probs before the step are -1."""
    own = [episode([1, END], sample=i, reward=r) for i, r in enumerate(rewards[:-1])]
    shown = episode([segment([1, 2, END], origin=Origin.INJECTED)], sample=9, reward=rewards[-1], provenance="teacher")
    rows = [Row(e, **marks) for e in [*own, shown]]
    rows = [row.mark(old=np.full(len(row.episode), -1.0, np.float32)) for row in rows]
    return [*rows[:-1], rows[-1].mark(tag=tag)]


def learnt(name: str, rows: list[Row], logp: list[list[float]], entropy: Any = 1.0) -> list[Any]:
    recipe, names = small(name), [row.episode.request.id for row in rows]
    about = entropy if isinstance(entropy, float) else dict(zip(names, entropy, strict=True))
    table = Table(dict(zip(names, logp, strict=True)), about)
    goal = dataclasses.replace(recipe.mechanism.objective, regularise=())
    update(table, batch_of(recipe, rows), goal, recipe.scale)
    return [table.coefficients.get(name) for name in names]


LOGP = [[-1.0, -1.5], [-0.5, -1.0], [-1.0, -1.0], [-0.1, -2.0, -5.0]]


def entropy_slopes(name: str, rows: list[Row]) -> tuple[Batch, np.ndarray]:
    """The derivative of a recipe's loss by the entropy of each token, where the policy has not moved."""
    recipe = small(name)
    batch, goal = batch_of(recipe, rows), recipe.mechanism.objective
    weights, size = weights_of(batch, goal, max_new=recipe.scale.max_new), len(batch.ids)
    leaf = torch.ones(size, dtype=torch.float64, requires_grad=True)
    view = view_of_batch(batch, logp=torch.full((size,), -1.0, dtype=torch.float64), entropy=leaf, key=Key(0))
    view = dataclasses.replace(view, constants={**view.constants, **constants(view, weights, goal)})
    loss_of(goal)(view, torch.from_numpy(weights)).value.backward()
    assert leaf.grad is not None
    return batch, leaf.grad.numpy()
