"""A collector that asks for the answers of later steps, which servers write while the learner learns."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from assay.memory import Memory
from assay.part import Collecting, Count, for_caller, name_of
from assay.source.rows import count_rows

if TYPE_CHECKING:
    from assay.collect import Collect, Collector
    from assay.models import Models
    from assay.source import Pool
    from assay.types import Episode, Request

PLACE = "ahead"  # of the memory: the answers of a later step, as `ahead/STAGE/STEP`


def ahead(
    collect: Collector,
    *,
    lag: int,
    more: Callable[[Models, Memory, int, int], list[Request]],
    pool: Pool,
    drawn: int,
    until: int,
) -> Collect:
    """`collect` for which the weights of `lag` steps before write the first answer to each request.

    At step s the requests of step s + lag are sent: the same that step s + lag would ask for itself, with its ids and
    random numbers. So a batch is a function of the seed, and not of the time that its answers took. `until` is the
    number of the first step after this stage.
    """

    def collect_ahead(models: Models, requests: Sequence[Request], memory: Memory) -> tuple[list[Episode], Memory]:
        def asked(step: int) -> list[Request]:
            return list(requests) if step == memory.step else more(models, _at(memory, step, pool, drawn), 0, drawn)

        def send(held: Memory, steps: Sequence[int]) -> Memory:
            for step in steps:
                if (name := _place(held, step)) not in held.kept:
                    at = dataclasses.replace(held, step=step)
                    held = held.hold(name, collect.send(models, asked(step), at))
            return held

        first = memory.step
        later = range(first + 1, min(first + lag, until - 1) + 1)
        held = send(_without_others(memory), [first])
        written = held.kept.get(_place(held, first), ())
        now = [episode.request for episode in written]  # waits until all are there
        single = collect.single(now)
        if single:  # servers go on while these are verified; a further round would wait for the later answers
            held = send(held, later)
        episodes = collect.finish(models, now, memory, written)
        if not single:
            held = send(held, later)
        return episodes, held.hold(_place(held, first), ())

    return collect_ahead


def _place(memory: Memory, step: int) -> str:
    return f"{PLACE}/{memory.stage}/{step}"


def _without_others(memory: Memory) -> Memory:
    """Drops the answers that were asked for steps of a stage that ended early."""
    ours = f"{PLACE}/{memory.stage}/"
    for name in [name for name in memory.kept if name.startswith(f"{PLACE}/") and not name.startswith(ours)]:
        memory = memory.hold(name, ())
    return memory


def _at(memory: Memory, step: int, pool: Pool, drawn: int) -> Memory:
    """The memory as step `step` will find it, as far as it is known now: the rows that are drawn until then count."""
    while memory.step < step:
        memory = dataclasses.replace(count_rows(memory, (), pool=pool, drawn=drawn), step=memory.step + 1)
    return memory


class Ahead(Collecting):
    """Answers are written by the weights of `lag` steps before, so that servers write while the learner learns.

    The first `lag` steps learn from answers of the first weights. `strict`: each answer is written by one version, and
    a step's batch depends on the seed alone; a lag above 1 gains time where there are as many servers, which take
    versions in turn. `window`: weights change while answers are written, and none is written by weights older than
    `lag` steps. How many servers there are is said by the machine; without any, the same answers are written in turn.

    For your own recipes: with servers of models beside the learner (docs/scale.md), so that neither waits for the
    other.

        collect=(Ahead(lag=1),)
        --mechanism.collect ahead --mechanism.collect.0.lag 1
    """

    lag: Count = 1  # steps between the weights that write an answer and those that learn from it
    order: Literal["strict", "window"] = for_caller("strict")  # window: weights may change while an answer is written
    does = ahead

    def refusal(self, *, scale: Any, mechanism: Any) -> str | None:
        if others := [part for part in mechanism.collect if part is not self]:
            return f"ahead decides which weights write the answers, and so does {name_of(others[0])}: keep one of them."
        if any(part.imitates for part in mechanism.ask):
            return "ahead asks the policy for answers of later steps, and this recipe imitates answers that are given."
        return None
