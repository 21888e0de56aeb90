"""How recipes learn: the task of letters, a beginner and a skilled one, and what a method says of its own recipes.

A recipe without a line learns letters by its reward in 24 steps, and unlearns them with the sign of its advantages
turned. Where that is not so, `learns.py` beside its method's tests says how it is:

    LEARNS = {"spec-rl": Learns(steps=2, afterwards=True)}
"""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from learning_draws import Draw
from of_methods import said
from tiny import policy, recipe_of, run, with_rounds
from typed import as_torch

from assay.engine.torch.engine import TorchEngine
from assay.known import RECIPES
from assay.recipe import Recipe

STEPS = 24

By = Literal["reward", "reward of its own", "agreement", "stages", "likelihood", "last stage", "own tests"]


@dataclass(frozen=True)
class Learns:
    """How a recipe shows that it learns, where it is not by more right answers within 24 steps."""

    by: By = "reward"  # "own tests": letters cannot show it
    rises: bool = True
    falls: bool = True  # with the sign turned
    least: float = 0.1  # of a reward of its own
    steps: int = 1  # times 24: some seeds need more
    whole_rate: bool = False  # each of its updates has the whole learning rate
    hot: bool = False  # sampled at temperature 1: coldly a beginner is never right, and a skilled one never wrong
    afterwards: bool = False  # its own answers are few: what it has learnt is asked afterwards
    bare: tuple[str, ...] = ()  # slots that are emptied where the sign is turned
    exploits: bool = False  # of its first answers the reward alone rises

    @property
    def count(self) -> int:
        return self.steps * STEPS


def learns(name: str) -> Learns:
    return said("LEARNS").get(name, Learns())


def by(*kinds: By) -> list[str]:
    """The recipes that show it so."""
    return [name for name in RECIPES if learns(name).by in kinds]


def small(name: str, *, learning_rate: float = 0.014, num_steps: int = 0) -> Recipe:
    """64 answers of at most four tokens a step, or what forks make of them; several updates share the rate."""
    about = learns(name)
    learning_rate /= 1 if about.whole_rate else recipe_of(name).scale.num_updates
    rows = (
        {"num_prompts": 64, "group_size": 1}
        if RECIPES[name].scale.group_size == 1
        else {"num_prompts": 8, "group_size": 8}
    )
    heat = {"temperature": 1.0, "top_p": 1.0, "top_k": 0} if about.hot else {}
    values = {"num_steps": num_steps or about.count, "learning_rate": learning_rate, "warmup_steps": 2}
    recipe = recipe_of(name, max_new=4, **rows, **values, **heat)
    return with_rounds(recipe, 2)  # lest a policy that knows nothing costs the test ten


def beginner() -> TorchEngine:
    """It ends an answer, right or wrong, no more often than it writes any letter."""
    return as_torch(policy("fp32", vocab=4, hidden=16, ffn=16, init_std=0.1))


def skilled() -> TorchEngine:
    """It is right most of the time and not always, by this draw."""
    engine = beginner()
    engine.load({**_skill(Draw.seed), "version": 0})
    return engine


@functools.cache
def _skill(seed: int) -> dict[str, torch.Tensor]:
    for steps in range(8, 32, 2):
        engine = beginner()
        recipe = small("rloo", num_steps=steps)
        recipe = dataclasses.replace(recipe, mechanism=dataclasses.replace(recipe.mechanism, forwards=()))  # no KL
        notes, _ = run(recipe, engine)
        if 0.5 < notes.accuracy()[-1] < 0.9:
            return {name: value for name, value in engine.state().items() if name.startswith("parameter/")}
    raise AssertionError(f"no number of steps makes a skill that can be unlearnt, with seed {seed}")


def rise(accuracy: np.ndarray) -> float:
    """By how much the last quarter is above the first step, which knows nothing of the rewards yet. Of 64 answers a
    step, where nothing is learnt, it is within 0.12 of 0 for a beginner, and within 0.2 for one who is half right. A
    recipe that asks only what is unsolved may have no answers in its last steps.
    """
    known = accuracy[~np.isnan(accuracy)]
    return float(known[-STEPS // 4 :].mean() - known[0])
