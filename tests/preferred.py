"""Worlds with their pairs marked, and small runs that learn from preferences."""

from __future__ import annotations

from typing import Any

import numpy as np
from learning_draws import shown
from off_policy import SHAPES, World, world
from tiny import models_of, phases_of, policy, recipe_of, run

from assay.curate.pairs import SIDES, pairs
from assay.known import RECIPES
from assay.memory import Memory
from assay.types import Row


def signs(row: Row) -> list[float]:
    """Of its pairs: 1 the winner, -1 the loser."""
    return row.constants[SIDES].tolist()


MORE = {**SHAPES, "two": [("pp", False), ("pepp", True), ("p", True)]}


def paired(seed: int, most: int, shapes: Any = MORE) -> tuple[World, list[tuple[int, int]]]:
    """A world with its pairs marked, and these as (winner, loser)."""
    made = world(seed, shapes=shapes)
    made.rows = pairs(made.rows, memory=Memory(seed), most=most)
    made.rows = [row.mark(in_loss=True, in_denominator=True) for row in made.rows]
    found = []
    for k in range(most):
        for group in dict.fromkeys(row.group for row in made.rows):
            mine = {signs(row)[k]: i for i, row in enumerate(made.rows) if row.group == group}
            if 1.0 in mine:
                found.append((mine[1.0], mine[-1.0]))
    return made, found


def beginner() -> Any:
    return policy("fp32", vocab=4, hidden=16, ffn=16, init_std=0.1)


def accuracy(engine: Any) -> float:
    """Of 256 answers."""
    recipe = recipe_of("rloo", max_new=4, num_prompts=64, group_size=4, num_steps=1)
    phases, models = phases_of(recipe), models_of(engine)
    requests = phases.ask(models, phases.source(Memory(9)), Memory(9))
    episodes, _ = phases.collect(models, requests, Memory(9))
    return float(np.mean([e.right for e in episodes]))


def require_learning(name: str, *, learning_rate: float = 0.005, num_prompts: int = 8, least: float = 0.2) -> None:
    """The policy learns from what a frozen one wrote, by `least` and more."""
    sizes = {"num_prompts": num_prompts, "group_size": 8, "num_steps": 48, "num_minibatches": 1, "warmup_steps": 2}
    engine = beginner()
    before = accuracy(engine)
    run(recipe_of(name, max_new=4, learning_rate=learning_rate, **sizes), engine)
    shown("rise", accuracy(engine) - before, above=least)


def require_one_stage(name: str) -> None:
    """The reference is where the run began."""
    assert len(RECIPES[name].stages) == 1 and not RECIPES[name].models["reference"].trained
