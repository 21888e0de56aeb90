"""Small runs of recipes with a critic or a process model, and advantages by token."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from tiny import recipe_of

from assay.memory import Memory
from assay.part import Part, bind
from assay.recipe import Recipe
from assay.types import Row

REWARDS = st.lists(st.integers(-8, 8).map(lambda n: n / 4), min_size=2, max_size=8)


def small(name: str, **scale: object) -> Recipe:
    rows = {"num_prompts": 4, "group_size": 4, "num_steps": 4, "learning_rate": 0.01, "warmup_steps": 0}
    return recipe_of(name, max_new=4, **{**rows, **scale})


def credited(part: Part, rows: list[Row]) -> list[list[float]]:
    return [np.asarray(row.advantage).tolist() for row in bind(part)(rows, memory=Memory(0))]
