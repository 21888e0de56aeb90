"""What a run remembers between steps: one store, part of every checkpoint."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from assay.memory.columns import Columns, of_columns, to_columns
from assay.memory.episodes import episode_of
from assay.memory.follow import Follow
from assay.memory.harvest import Harvest
from assay.memory.helpful import HoldTagged
from assay.memory.leftovers import KeepLeftovers
from assay.rng import Key
from assay.types import Episode

__all__ = [
    "Budget",
    "Follow",
    "Harvest",
    "HoldTagged",
    "KeepLeftovers",
    "Memory",
    "pass_rates",
]


@dataclass(frozen=True)
class Budget:
    """What was spent so far. Every curve can be drawn against each of these."""

    generated_tokens: int = 0
    verified_answers: int = 0
    update_tokens: int = 0
    optimiser_steps: int = 0
    rollouts: int = 0

    def spend(self, **amounts: int) -> Budget:
        return dataclasses.replace(self, **{name: getattr(self, name) + amount for name, amount in amounts.items()})


@dataclass(frozen=True)
class Memory:
    """State of the loop that is not weights. A new value after each step; phases only read it."""

    seed: int
    step: int = 0  # steps completed
    stage: int = 0
    budget: Budget = Budget()
    stores: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # JSON data, a mapping per part
    kept: Mapping[str, tuple[Episode, ...]] = field(default_factory=dict)  # buffers, queues and caches, by part

    @property
    def key(self) -> Key:
        return Key(self.seed)

    def store(self, name: str) -> dict[str, Any]:
        """A copy of a part's store, to change and put back with `keep`."""
        return dict(self.stores.get(name, {}))

    def keep(self, name: str, store: Mapping[str, Any]) -> Memory:
        return dataclasses.replace(self, stores={**self.stores, name: store})

    def hold(self, name: str, episodes: Sequence[Episode]) -> Memory:
        """These episodes, under the name of the part that wants them back, in place of what it held."""
        others = {other: held for other, held in self.kept.items() if other != name}
        return dataclasses.replace(self, kept=others | {name: tuple(episodes)} if episodes else others)

    def to_data(self) -> dict[str, Any]:
        """JSON data of all but what is held."""
        data = {field.name: getattr(self, field.name) for field in dataclasses.fields(self) if field.name != "kept"}
        return {**data, "budget": dataclasses.asdict(self.budget)}

    def to_columns(self) -> Columns:
        """The episodes that are held."""
        return to_columns(self.kept)

    @classmethod
    def of(cls, data: Mapping[str, Any], columns: Mapping[str, np.ndarray]) -> Memory:
        """The memory of which these are the two halves. Earlier versions had what is held in the first one."""
        held = {place: tuple(map(episode_of, items)) for place, items in data.get("kept", {}).items()}
        kept = of_columns(columns) if columns else held
        return cls(**{**data, "budget": Budget(**data["budget"]), "kept": kept})


Remember = Callable[..., Memory]
"""(memory, *, models, episodes, rows, stats) -> the memory after the step. Weights that follow others move here too."""


def pass_rates(memory: Memory, episodes: Sequence[Episode]) -> Memory:
    """Right answers and attempts by task and level, over all that was begun afresh and without help, before any filter.

    What goes on from within another answer, was picked among steps, or was written without chance says nothing of how
    often the policy is right.
    """
    store = memory.store("pass-rates")
    for episode in episodes:
        verdict, request = episode.verdict, episode.request
        if verdict is None or verdict.status == "invalid" or request.parent or request.pauses or request.helped:
            continue
        if request.temperature == 0:
            continue
        name = f"{episode.request.problem.task}/{episode.request.problem.level}"
        right, tried = store.get(name, (0, 0))
        store[name] = [right + (verdict.status == "ok"), tried + 1]
    return memory.keep("pass-rates", dict(sorted(store.items())))
