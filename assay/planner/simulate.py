"""The loop of a run as discrete events: when answers are there, when the learner waits, when servers are idle.

The order of events is that of `assay.collect.ahead` and `assay.engine.paired`: a step lands its answers, publishes its
weights to a pool that has ended what it wrote, asks that pool for the answers of a later step, and learns.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Loop:
    """The amounts of one step of a run: its answers, rates and seconds, and the lag of its servers.

    Example:
        simulate(Loop(lengths=lambda step: [512.0] * 64, rate=60.0, slots=64, train=20.0, lag=1), steps=20)
    """

    lengths: Callable[[int], Sequence[float]]  # step -> the tokens of each answer
    rate: float  # tokens a second of one answer
    slots: int  # answers that are written at a time, by all servers
    train: float  # seconds in which the learner works on a step
    publish: float = 0.0  # seconds until servers have new weights
    lag: int = 0  # steps between the weights that write an answer and those that learn from it
    pools: int = 1  # groups of servers that take versions in turn
    order: Literal["strict", "window"] = "strict"


@dataclass(frozen=True)
class Simulated:
    """A simulated run, after its first steps."""

    seconds: float  # of a step
    learner_idle: float  # share of the time in which the learner waits
    samplers_idle: float  # share of the slots' time in which nothing is written
    age: float  # mean age of the answers, in steps


class _Pool:
    """Servers that have one version of the weights."""

    def __init__(self, slots: int) -> None:
        self.free = [0.0] * slots  # when each slot is free
        self.version = -1

    def write(self, lengths: Sequence[float], rate: float, now: float) -> float:
        """Takes answers in their order, each on the slot that is free first. Returns the time when the last one is
        written.
        """
        last = now
        for tokens in lengths:
            end = max(now, self.free[0]) + tokens / rate
            heapq.heapreplace(self.free, end)
            last = max(last, end)
        return last

    @property
    def done(self) -> float:
        return max(self.free)


def simulate(loop: Loop, *, steps: int, warm: int = 0) -> Simulated:
    """Runs so many steps of a run that goes on after them; the first `warm` of them are not counted."""
    pools = [_Pool(max(1, loop.slots // loop.pools)) for _ in range(loop.pools)]
    landed: dict[int, float] = {}  # step -> when its answers are there
    wrote: dict[int, int] = {}  # step -> the version that wrote them
    now, waited, written, turn, since = 0.0, 0.0, 0.0, 0, 0.0
    for step in range(steps):
        if step == warm:
            since, waited, written = now, 0.0, 0.0
        for target in (step, *range(step + 1, step + loop.lag + 1)):
            if target not in landed:
                pool, began = pools[turn], now
                if pool.version != step:
                    if pool.done > now and pool.version >= 0:
                        turn = (turn + 1) % len(pools)
                    pool = pools[turn]
                    if loop.order == "strict":
                        now = max(now, pool.done)
                    now += loop.publish
                    pool.version = step
                waited += now - began
                lengths = loop.lengths(target)
                landed[target], wrote[target] = pool.write(lengths, loop.rate, now), step
                written += sum(lengths) / loop.rate
            if target == step:
                waited += max(0.0, landed[step] - now)
                now = max(now, landed[step])
        now += loop.train
    total = now - since
    counted = range(warm, steps)
    return Simulated(
        seconds=total / len(counted),
        learner_idle=waited / total,
        samplers_idle=max(0.0, 1.0 - written / (total * sum(len(pool.free) for pool in pools))),
        age=sum(step - wrote[step] for step in counted) / len(counted),
    )
