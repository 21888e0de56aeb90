"""A run that was stopped between two steps and goes on from what a checkpoint holds, against the run in one piece."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable

import torch
from tiny import Notes, models_of, phases_of

from assay.engine.local import LocalEngine
from assay.loop import train
from assay.memory import Memory
from assay.recipe import Recipe


def require_resume(recipe: Recipe, engine: Callable[[], LocalEngine], *, cut: int = 2) -> Memory:
    """Bit for bit: weights, optimiser, memory, and what the later steps measured."""
    phases = phases_of(recipe)
    calm, stopped, other = engine(), engine(), engine()
    reference = engine() if recipe.mechanism.objective.needs_reference else None
    first, second, third = (models_of(one, reference, recipe.roles) for one in (calm, stopped, other))
    notes, later = Notes(), Notes()
    expected = train([phases], first, Memory(0), notes)
    half = train([dataclasses.replace(phases, end=cut)], second, Memory(0), Notes())
    other.load(stopped.state())
    back = Memory.from_data(json.loads(json.dumps(half.to_data())))
    found = train([phases], third, back, later)
    assert later.stats == notes.stats[cut:]
    assert json.dumps(found.to_data()) == json.dumps(expected.to_data())
    left, right = other.state(), calm.state()
    for name, value in right.items():
        same = torch.equal(left[name], value) if isinstance(value, torch.Tensor) else left[name] == value
        assert same, name
    return expected
