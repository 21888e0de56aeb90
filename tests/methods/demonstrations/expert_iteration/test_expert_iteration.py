"""Expert iteration: rounds of sampling and imitation."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from demonstrated import small
from tiny import Notes, here, models_for, require_resumable, stages_of
from worked import POOL, Signs, beginner, register

from assay.loop import train
from assay.memory import Memory
from assay.models import Models
from assay.recipe import Recipe
from assay.types import Stats


@pytest.fixture(autouse=True)
def worked(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def iteration(**scale: object) -> Recipe:
    return small("expert-iteration", **{"num_prompts": 4, "group_size": 8, "num_steps": 30, **scale})


@dataclasses.dataclass
class Distance(Notes):
    """How far the weights are from those that the run began with, step by step."""

    first: dict[str, Any] = dataclasses.field(default_factory=dict)
    found: list[float] = dataclasses.field(default_factory=list)

    def step(self, memory: Memory, models: Models, episodes: Any, rows: Any, batches: Any, stats: Stats) -> None:
        super().step(memory, models, episodes, rows, batches, stats)
        state = here(models["policy"]).state()
        self.found.append(sum(float((state[name] - value).square().sum()) for name, value in self.first.items()))


@pytest.mark.slow
def test_each_round_trains_the_first_weights_on_all_rounds() -> None:
    """Rounds of two steps of sampling and eight of training; Adam's first step is the same wherever it begins."""
    recipe, engine = iteration(learning_rate=0.02), beginner()
    first = {name: value.clone() for name, value in engine.state().items() if name.startswith("parameter/")}
    notes = Distance(first=first)
    memory = train(stages_of(recipe, pool=POOL, codec=Signs()), models_for(recipe, engine), Memory(0), notes)
    assert [bool(s.get("update/steps")) for s in notes.stats] == ([False] * 2 + [True] * 8) * 3
    written = [np.mean([e.right for e in step]) for step in notes.episodes]
    assert np.mean(written[20:22]) > np.mean(written[0:2]) + 0.2
    assert all(e.right and e.provenance == "replay" for step in notes.episodes[2:10] for e in step)
    assert len(memory.kept["harvest"]) >= 3
    assert notes.found[1] == 0 and notes.found[9] == notes.found[11] > 4 * notes.found[2]
    assert notes.found[12] == pytest.approx(notes.found[2], rel=0.1)  # one step from the beginning again


@pytest.mark.slow
def test_a_run_of_expert_iteration_that_is_stopped_goes_on_to_the_same_bits() -> None:
    require_resumable(iteration(num_steps=10), beginner, after=2, pool=POOL, codec=Signs())
