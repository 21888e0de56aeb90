"""What a run remembers between steps: one store, part of every checkpoint."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.memory.difficulty import TrackDifficulty, track_difficulty
from assay.memory.drafts import Drafts, keep_drafts
from assay.memory.episodes import episode_of, to_data
from assay.memory.examined import KeepExamined, keep_examined
from assay.memory.follow import Follow, follow
from assay.memory.harvest import Harvest, harvest
from assay.memory.helpful import HoldTagged, hold_tagged
from assay.memory.leftovers import KeepLeftovers, keep_leftovers
from assay.memory.levels import Promote, promote
from assay.memory.posed import AdmitPosed, admit_posed
from assay.memory.rates import KeepRate, keep_rate
from assay.memory.solved import HoldSolved, hold_solved
from assay.memory.successes import KeepSuccesses, keep_successes
from assay.memory.temperature import TrackTemperature, track_temperature
from assay.memory.values import TrackValues, track_values
from assay.part import Part
from assay.rng import Key
from assay.types import Episode


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
        return to_data(self)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Memory:
        kept = {name: tuple(episode_of(item) for item in items) for name, items in data["kept"].items()}
        return cls(**{**data, "budget": Budget(**data["budget"]), "kept": kept})


Remember = Callable[..., Memory]
"""(memory, *, models, episodes, rows, stats) -> the memory after the step. Weights that follow others move here too."""

MEMORIES: dict[str, tuple[type[Part], Remember]] = {
    "promote": (Promote, promote),
    "keep-rate": (KeepRate, keep_rate),
    "track-difficulty": (TrackDifficulty, track_difficulty),
    "track-temperature": (TrackTemperature, track_temperature),
    "hold-solved": (HoldSolved, hold_solved),
    "keep-successes": (KeepSuccesses, keep_successes),
    "track-values": (TrackValues, track_values),
    "harvest": (Harvest, harvest),
    "keep-examined": (KeepExamined, keep_examined),
    "hold-tagged": (HoldTagged, hold_tagged),
    "keep-leftovers": (KeepLeftovers, keep_leftovers),
    "admit-posed": (AdmitPosed, admit_posed),
    "drafts": (Drafts, keep_drafts),
    "follow": (Follow, follow),
}


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
