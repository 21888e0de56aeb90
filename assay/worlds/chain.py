"""A chain of states, of which both ends pay: the near one little at once, the far one more, but later. It is small
enough that every episode can be listed and the best policy computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from assay.rng import Key
from assay.types import Verdict
from assay.worlds.play import Act, Ask, Numbers, Reply, Spec, World

LEFT, RIGHT = 0, 1
NEAR, FAR = 0.25, 1.0  # what the left and the right end pay


@dataclass
class Chain:
    """A walk from a state of a chain. The play ends at either end; a limit cuts it off after `most` steps."""

    states: int
    state: int
    most: int
    taken: int = 0

    def open(self) -> Reply:
        return Reply(self._ask())

    def step(self, act: Act) -> Reply:
        if act.action not in (LEFT, RIGHT):
            return Reply(fault=f"the actions of a chain are {LEFT} and {RIGHT}, not {act.action!r}")
        self.state += 1 if act.action == RIGHT else -1
        self.taken += 1
        if self.state in (0, self.states - 1):
            return Reply(end="ended", rewards={act.seat: FAR if self.state else NEAR})
        end: Literal["limit", ""] = "limit" if self.taken == self.most else ""
        return Reply(self._ask(), end)

    def judge(self) -> Mapping[str, Verdict]:
        paid = {0: NEAR, self.states - 1: FAR}.get(self.state, 0.0)
        status, kind = ("ok", "") if paid == FAR else ("fail", "wrong")
        return {"policy": Verdict(status, kind, answer=str(self.state), scores={"return": paid})}

    def save(self) -> bytes:
        return bytes((self.state, self.taken))

    def close(self) -> None:
        """It holds nothing."""

    def _ask(self) -> Ask:
        return Ask(seen=np.eye(self.states, dtype=np.float32)[self.state])


def chain(states: int) -> World:
    """The world of a chain of so many states, of which a problem says where it begins and how long it may take."""

    def start(spec: Spec, key: Key) -> Chain:
        return Chain(states, spec["start"], spec["most"])

    def resume(spec: Spec, key: Key, saved: bytes) -> Chain:
        state, taken = saved
        return Chain(states, state, spec["most"], taken)

    return World(start, resume=resume, fork="save", numbers=Numbers(states, 2))
