"""Groups of earlier steps that train again beside the new ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.memory import Memory
from assay.memory.leftovers import leftovers, replayed
from assay.part import Count, Curator, Remembering
from assay.types import Row, by_group

STORE = "past"


def keep_past(memory: Memory, *, rows: Sequence[Row], steps: int, place: str = STORE) -> Memory:
    """The memory with the groups that trained for the first time in this step or in the `steps` - 1 steps before it, as
    they were marked.
    """
    store = {group: entry for group, entry in memory.store(place).items() if memory.step - entry["step"] < steps}
    held = [episode for episode in memory.kept.get(place, ()) if episode.request.group in store]
    for group in by_group(rows).values():
        if any(row.waited for row in group.members) or not any(row.in_loss for row in group.members):
            continue
        own = {row.episode.request.id: row for row in reversed(group.members)}
        marks = {name: [row.in_loss, row.in_group, row.in_denominator] for name, row in reversed(own.items())}
        store[group.name] = {"step": memory.step, "rows": marks}
        held += [replayed(own[name].episode) for name in marks]
    return memory.keep(place, store).hold(place, held)


class KeepPast(Remembering):
    """Keeps the groups of the last `steps` steps, to be trained again (ReMix 2507.06892).

    remember=(KeepPast(steps=4),)
    --mechanism.remember keep-past --mechanism.remember.0.steps 4
    """

    keeps = STORE

    steps: Count = 4
    does = keep_past


def mix_past(rows: Sequence[Row], memory: Memory, *, share: float, place: str = STORE) -> list[Row]:
    """The rows, and the rows of groups of earlier steps, which are drawn at random, each at most once. If n groups
    train, round(n share / (1 - share)) are added.
    """
    held = list(leftovers(memory, place).values())
    fresh = sum(any(row.in_loss for row in group.members) for group in by_group(rows).values())
    count = min(len(held), round(fresh * share / (1 - share)))
    order = memory.key("mix-past", memory.step).generator().permutation(len(held))
    again: list[Row] = []
    for marks, episodes in (held[i] for i in order[:count].tolist()):
        for episode in episodes:
            in_loss, in_group, counted = marks[episode.request.id]
            again.append(Row(episode, in_loss, in_group, in_denominator=counted, waited=place))
    return [*rows, *again]


class MixPast(Curator):
    """A share of the groups of a step is from earlier policies. Their advantages are taken within their own group. A
    correction of the objective must say which policy wrote them (ReMix 2507.06892).

        curate=(MixPast(share=0.4),)
        --mechanism.curate mix-past --mechanism.curate.0.share 0.4
    """

    reads = (KeepPast,)

    share: float = 0.4  # of the groups that train, the part from earlier steps
    does = mix_past

    def refusal(self, **_: Any) -> str | None:
        if not 0 <= self.share < 1:
            return f"mix-past: share must be from 0 to below 1, not {self.share:g}."
        return None
