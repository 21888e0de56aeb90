"""The memory: what a run keeps between steps beside weights. Every checkpoint contains it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from assay.memory.columns import Columns, of_columns, to_columns
from assay.memory.episodes import episode_of
from assay.memory.examined import KeepExamined
from assay.memory.follow import Follow
from assay.memory.harvest import Harvest
from assay.memory.helpful import HoldTagged
from assay.memory.leftovers import KeepLeftovers
from assay.memory.posed import AdmitPosed
from assay.memory.promised import Promised
from assay.rng import Key
from assay.types import Episode

__all__ = [
    "AdmitPosed",
    "Budget",
    "Follow",
    "Harvest",
    "HoldTagged",
    "KeepExamined",
    "KeepLeftovers",
    "Memory",
    "Promised",
    "pass_rates",
]


@dataclass(frozen=True)
class Budget:
    """What the run has spent so far, in five units; a curve can be drawn against each of these."""

    generated_tokens: int = 0
    verified_answers: int = 0
    update_tokens: int = 0
    optimiser_steps: int = 0
    rollouts: int = 0

    @property
    def tokens(self) -> int:
        """The tokens by which runs are compared: generated ones; trained ones of a run that generates none."""
        return self.generated_tokens or self.update_tokens

    def spend(self, **amounts: int) -> Budget:
        return dataclasses.replace(self, **{name: getattr(self, name) + amount for name, amount in amounts.items()})


@dataclass(frozen=True)
class Memory:
    """The state of the training loop that is not weights. It is immutable: each step makes a new memory of the last.

    Memory(seed=0).keep("cuts", {"problem": 0.5}).store("cuts")  # JSON data of a part
    Memory(seed=0).hold("harvest", episodes).kept["harvest"]  # episodes, such as a replay buffer
    """

    seed: int
    step: int = 0  # number of steps that are complete
    stage: int = 0
    budget: Budget = Budget()
    stores: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # name -> JSON data of a part
    kept: Mapping[str, Sequence[Episode]] = field(default_factory=dict)  # name -> replay buffer or queue of a part

    @property
    def key(self) -> Key:
        return Key(self.seed)

    def store(self, name: str) -> dict[str, Any]:
        """A copy of a part's store, to change and put back with `keep`."""
        return dict(self.stores.get(name, {}))

    def keep(self, name: str, store: Mapping[str, Any]) -> Memory:
        """The memory with this store in place of the part's old one."""
        return dataclasses.replace(self, stores={**self.stores, name: store})

    def hold(self, name: str, episodes: Sequence[Episode]) -> Memory:
        """The memory with these episodes in place of the episodes that it held under this name."""
        others = {other: held for other, held in self.kept.items() if other != name}
        if not episodes:
            return dataclasses.replace(self, kept=others)
        held = episodes if isinstance(episodes, Promised) else tuple(episodes)
        return dataclasses.replace(self, kept=others | {name: held})

    def to_data(self) -> dict[str, Any]:
        """The memory without the held episodes, as JSON data."""
        data = {field.name: getattr(self, field.name) for field in dataclasses.fields(self) if field.name != "kept"}
        return {**data, "budget": dataclasses.asdict(self.budget)}

    def to_columns(self) -> Columns:
        """The held episodes, as arrays. Those that are still being written are waited for."""
        landed = {name: held.landed() for name, held in self.kept.items() if isinstance(held, Promised)}
        never = [name for name, episodes in landed.items() if not episodes]
        return to_columns({name: held for name, held in {**self.kept, **landed}.items() if name not in never})

    @classmethod
    def of(cls, data: Mapping[str, Any], columns: Mapping[str, np.ndarray]) -> Memory:
        """The memory from its two halves, `to_data` and `to_columns`. Checkpoints of earlier versions have the held
        episodes in the first half.
        """
        held = {place: tuple(map(episode_of, items)) for place, items in data.get("kept", {}).items()}
        kept = of_columns(columns) if columns else held
        return cls(**{**data, "budget": Budget(**data["budget"]), "kept": kept})


Remember = Callable[..., Memory]
"""(memory, *, models, episodes, rows, stats) -> the memory after the step. Models that follow the policy are updated
here too.
"""


def pass_rates(memory: Memory, episodes: Sequence[Episode]) -> Memory:
    """The memory with the pass rates: right answers and attempts for each task and level, before any filter of
    `curate`.

    Only answers that the policy sampled from the bare problem count. Branches of other answers, answers with a hint or
    a given prefix, answers that a search picked, and greedy answers (temperature 0) would bias the pass rate.
    """
    store = memory.store("pass-rates")
    for episode in episodes:
        request = episode.request
        if not episode.verified or request.parent or request.pauses or request.halts or request.helped:
            continue
        if request.temperature == 0:
            continue
        name = f"{episode.request.problem.task}/{episode.request.problem.level}"
        right, tried = store.get(name, (0, 0))
        store[name] = [right + episode.right, tried + 1]
    return memory.keep("pass-rates", dict(sorted(store.items())))
