"""Stages: when one begins, and with which weights, optimiser and memory. Between steps, never inside one."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.memory import Memory
from assay.models import Models
from assay.part import Condition, Part, bind
from assay.types import Stats

if TYPE_CHECKING:
    from assay.assemble import Phases
    from assay.source import Pool

Seen = Mapping[str, Sequence[float]]
"""Values of the metrics that stages wait for, a value a step since the present stage began."""


def steps(seen: Seen) -> bool:
    """Nothing brings it forward."""
    return False


@dataclass(frozen=True)
class Steps(Condition):
    """It begins when the stages before it have had their shares of all steps."""

    does = steps


def threshold(seen: Seen, *, metric: str, least: float, window: int) -> bool:
    """mean of the last window >= least."""
    values = seen.get(metric, ())
    return len(values) >= window and sum(values[-window:]) / window >= least


@dataclass(frozen=True)
class Threshold(Condition):
    """It begins when a metric of the steps is high enough: the mean of the last `window` is at least `least`."""

    metric: str = "reward/accuracy"
    least: float = 0.5
    window: int = 10
    does = threshold

    @property
    def watches(self) -> str:
        return self.metric


def plateau(seen: Seen, *, metric: str, gain: float, window: int) -> bool:
    """mean of the last window - mean of the window before < gain."""
    values = seen.get(metric, ())
    last, before = values[-window:], values[-2 * window : -window]
    return len(before) == window and (sum(last) - sum(before)) / window < gain


@dataclass(frozen=True)
class Plateau(Condition):
    """It begins when a metric of the steps rises no more: the last `window` is hardly above the one before it."""

    metric: str = "reward/accuracy"
    gain: float = 0.01
    window: int = 10
    does = plateau

    @property
    def watches(self) -> str:
        return self.metric


def current(stages: Sequence[Phases], models: Models, memory: Memory) -> tuple[Phases, Memory]:
    """The stage that the next step belongs to, and the memory with which it begins.

    Entering one twice from the same memory comes to the same, so that a stop after it and before a save does no harm.
    """
    for later in stages[memory.stage + 1 :]:
        if memory.step < stages[memory.stage].end and not later.due(memory):
            break
        memory = later.enter(models, memory)
    return stages[memory.stage], memory


def watched(conditions: Sequence[Condition]) -> tuple[str, ...]:
    """The metrics that they wait for."""
    return tuple(sorted({part.watches for part in conditions if part.watches is not None}))


def note(memory: Memory, stats: Stats, names: Sequence[str]) -> Memory:
    """The memory with one more value of each of these metrics, where the step has it."""
    store = memory.store("stage")
    return memory.keep("stage", store | {name: [*store.get(name, []), stats[name]] for name in names if name in stats})


def due(memory: Memory, *, part: Part, pool: Pool, place: str) -> bool:
    """Whether the condition holds on what was noted since the present stage began."""
    return bind(part, pool=pool, place=place)(memory.store("stage"), memory=memory)


def enter(models: Models, memory: Memory, *, number: int, start: str, optimiser: str, clear: bool) -> Memory:
    """Sets weights and optimisers for this stage. Versions count on, so that no two weights bear the same one."""
    for name in models if start == "base" or optimiser == "reset" else ():
        state = models[name].state()
        if start == "base" and name in models.starts:
            state = {**models.starts[name], "version": state["version"]}
        elif not any(entry.startswith("optimiser/") for entry in state):
            continue
        models[name].load({entry: value for entry, value in state.items() if not entry.startswith("optimiser/")})
    for name in [name for name, spec in models.specs.items() if spec.start == "policy"]:
        state = models["policy"].state()
        models[name].load({entry: value for entry, value in state.items() if not entry.startswith("optimiser/")})
    kept: Mapping[str, object] = {"stores": {"pass-rates": memory.store("pass-rates")}, "kept": {}} if clear else {}
    memory = dataclasses.replace(memory, **kept)  # type: ignore[arg-type]
    stores = {name: store for name, store in memory.stores.items() if name != "stage"}
    return dataclasses.replace(memory, stage=number, stores=stores)
