"""A run that stops after some steps and goes on from what it saved, against the same run without a stop."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from tiny import POOL, Letters, Notes, models_for

from assay.assemble import assemble
from assay.engine.local import LocalEngine
from assay.errors import Stopped
from assay.loop import train
from assay.memory import Memory
from assay.models import Models
from assay.recipe import Recipe

Make = Callable[[], LocalEngine]


class Saving(Notes):
    """Stops after a step, with everything that a checkpoint holds."""

    def __init__(self, after: int | None, saved: tuple[str, ...]) -> None:
        super().__init__()
        self.after, self.names = after, saved
        self.data: Any = None

    def step(self, memory: Memory, models: Models, *seen: Any) -> None:
        super().step(memory, models, *seen)
        if memory.step == self.after:
            states = {name: copy.deepcopy(models[name].state()) for name in self.names}
            self.data = json.dumps(memory.to_data()), states
            raise Stopped("for the test")


def run_in_parts(recipe: Recipe, make: Make, *, after: int | None = None, seed: int = 0) -> tuple[Models, Memory, list]:
    """The models, the memory and the statistics of all steps at the end."""
    saved = tuple(name for name, model in recipe.models.items() if model.saved)
    models, memory, stats = models_for(recipe, make()), Memory(seed), []
    stages = assemble(recipe, pool=POOL, codec=Letters(), micro_tokens=10**6)
    notes = Saving(after, saved)
    try:
        memory = train(stages, models, memory, notes)
    except Stopped:
        text, states = notes.data
        stats = notes.stats
        models, memory, notes = models_for(recipe, make()), Memory.from_data(json.loads(text)), Saving(None, saved)
        for name, state in states.items():
            models[name].load(state)
        memory = train(stages, models, memory, notes)
    return models, memory, stats + notes.stats


def require_resumes(recipe: Recipe, make: Make, *, after: int) -> None:
    """Weights, optimisers, memory and statistics are those of the run without a stop, bit for bit."""
    calm, broken = run_in_parts(recipe, make), run_in_parts(recipe, make, after=after)
    assert len(calm[2]) == len(broken[2]) == recipe.scale.num_steps
    for one, other in zip(calm[2], broken[2], strict=True):
        np.testing.assert_equal(one, other)
    assert json.dumps(calm[1].to_data()) == json.dumps(broken[1].to_data())
    for name, model in recipe.models.items():
        one, other = (models[name].state() for models in (calm[0], broken[0]))
        assert one.keys() == other.keys()
        for key, value in one.items() if model.saved else ():
            assert torch.equal(value, other[key]) if isinstance(value, torch.Tensor) else value == other[key], key
