"""Stages of a recipe: when a stage begins, and with which weights, optimiser state and memory.

A stage begins between two steps, never inside a step.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from assay.memory import Memory
from assay.models import Models
from assay.part import Condition, Count, Part, bind
from assay.types import Stats

if TYPE_CHECKING:
    from assay.assemble import Phases
    from assay.source import Pool

Seen = Mapping[str, Sequence[float]]
"""Metric -> its values since the present stage began, one value for each step. Only metrics that conditions watch."""


def steps(seen: Seen) -> bool:
    """Never true: the stage begins no earlier than its share of the steps says."""
    return False


class Steps(Condition):
    """The stage begins when the stages before it have used up their shares of all steps.

    Stage("reinforce", when=Steps())  # the default
    """

    does = steps


def threshold(seen: Seen, *, metric: str, least: float, window: int) -> bool:
    """mean of the last `window` values >= least."""
    values = seen.get(metric, ())
    return len(values) >= window and sum(values[-window:]) / window >= least


class OfMetric(Condition):
    """Base class of conditions that read a metric: its values since the stage began, one a step."""

    metric: str = "reward/accuracy"


class Threshold(OfMetric):
    """The stage begins when a metric is high enough: its mean over the last `window` steps is at least `least`.

    Stage("hard", when=Threshold("reward/accuracy", least=0.7, window=20))
    """

    least: float = 0.5
    window: Count = 10
    does = threshold


def plateau(seen: Seen, *, metric: str, gain: float, window: int) -> bool:
    """mean of the last `window` values - mean of the `window` values before them < gain."""
    values = seen.get(metric, ())
    last, before = values[-window:], values[-2 * window : -window]
    return len(before) == window and (sum(last) - sum(before)) / window < gain


class Plateau(OfMetric):
    """The stage begins when a metric rises no more: its mean over `window` steps grew by less than `gain`.

    Stage("hard", when=Plateau("reward/accuracy", gain=0.01, window=50))
    """

    gain: float = 0.01
    window: Count = 10
    does = plateau


def ends(shares: Sequence[float], num_steps: int) -> list[int]:
    """The step at which each stage ends at the latest: the steps in proportion to the shares, rounded.

    Where there are as many steps as stages, every stage with a share gets one, because later stages build on earlier
    ones.
    """
    fair = [round(sum(shares[: i + 1]) / sum(shares) * num_steps) for i in range(len(shares))]
    if num_steps < sum(share > 0 for share in shares):
        return fair
    found: list[int] = []
    for i, share in enumerate(shares):
        least = (found[-1] if found else 0) + (share > 0)
        later = sum(share > 0 for share in shares[i + 1 :])
        found.append(max(least, min(fair[i], num_steps - later)))
    return found


def current(stages: Sequence[Phases], models: Models, memory: Memory) -> tuple[Phases, Memory]:
    """The stage that the next step belongs to, and the memory with which that step begins.

    Entering a stage twice from the same memory gives the same result. A run that stops after it has entered a stage
    and before it has saved a checkpoint therefore loses nothing: the resumed run enters the stage again.
    """
    for later in stages[memory.stage + 1 :]:
        if memory.step < stages[memory.stage].end and not later.due(memory):
            break
        memory = later.enter(models, memory)
    return stages[memory.stage], memory


def watched(conditions: Sequence[Condition]) -> tuple[str, ...]:
    """The names of the metrics that these conditions look at."""
    return tuple(sorted({part.metric for part in conditions if isinstance(part, OfMetric)}))


def note(memory: Memory, stats: Stats, names: Sequence[str]) -> Memory:
    """The memory with this step's value of each metric in `names` added; a metric that the step lacks is left out."""
    store = memory.store("stage")
    return memory.keep("stage", store | {name: [*store.get(name, []), stats[name]] for name in names if name in stats})


def due(memory: Memory, *, part: Part, pool: Pool, place: str) -> bool:
    """Whether a stage's condition holds on the metrics noted since the present stage began."""
    return bind(part, pool=pool, place=place)(memory.store("stage"), memory=memory)


def enter(models: Models, memory: Memory, *, number: int, start: str, optimiser: str, clear: bool) -> Memory:
    """Sets the weights and the optimisers with which this stage begins.

    The version of the weights counts on when weights are put back: two different sets of weights never share a version.
    """
    for name in models if start == "base" or optimiser == "reset" else ():
        if start == "base" and name in models.restarts:
            models[name].return_to_start()
        else:
            models[name].forget()
    for name in [name for name, spec in models.specs.items() if spec.start == "policy"]:
        models[name].take(models["policy"])
    if clear:
        memory = dataclasses.replace(memory, stores={"pass-rates": memory.store("pass-rates")}, kept={})
    stores = {name: store for name, store in memory.stores.items() if name != "stage"}
    return dataclasses.replace(memory, stage=number, stores=stores)
