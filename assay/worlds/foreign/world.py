"""The world of an environment of another library. At each turn a seat reads all that it has been told and has written;
what it wins in all is the payoff of its answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from assay.rng import Key
from assay.types import Verdict
from assay.worlds.foreign import Bridge
from assay.worlds.foreign.child import Host, HostLost, hired, released
from assay.worlds.matches import PAYOFF, judged
from assay.worlds.play import Act, Ask, Line, Reply, Seat, Spec, World

Said = Mapping[str, Any]
"""What an environment says: see `assay/worlds/foreign/hosts/lines.py`."""
LOST = -1.0  # of a seat that did not finish its turn, in an environment that has told no return


class Game(Protocol):
    """A game that somebody else runs."""

    def begin(self, spec: Spec) -> Said: ...

    def go_on(self, text: str) -> Said: ...

    def close(self, *, ended: bool) -> None: ...


@dataclass
class Hosted:
    """A game in a host program."""

    line: tuple[str, ...]
    host: Host | None = None

    def begin(self, spec: Spec) -> Said:
        self.host = hired(self.line)
        return self.host.ask({"name": spec["name"], "seed": spec["seed"], "given": spec["given"]})

    def go_on(self, text: str) -> Said:
        if self.host is None:
            raise HostLost("no game has begun")
        return self.host.ask({"text": text})

    def close(self, *, ended: bool) -> None:
        host, self.host = self.host, None
        if host is not None:
            (released if ended else Host.end)(host)


@dataclass
class ForeignPlay:
    """A play in an environment of another library."""

    game: Game
    spec: Spec
    seats: tuple[str, ...]
    heard: dict[str, list[Line]] = field(default_factory=dict)
    said: Said = field(default_factory=dict)  # what the environment said last

    def open(self) -> Reply:
        return self._replied(self.game.begin(self.spec))

    def step(self, act: Act) -> Reply:
        self.heard[act.seat].append(Line(act.text, act.seat))
        return self._replied(self.game.go_on(act.text))

    def _replied(self, said: Said) -> Reply:
        self.said = said
        self._returns()
        if end := said.get("end"):
            if end not in ("ended", "limit"):
                raise HostLost(f"it ends as {end!r}: expected ended or limit")
            return Reply(end=end, failed=bool(said.get("wrong")))
        seat, told = self.seats[said.get("seat", 0)], said["say"]
        lines = [Line(told, "user")] if isinstance(told, str) else [Line(text, author) for text, author in told]
        self.heard[seat] = lines if said.get("whole") else [*self.heard.get(seat, ()), *lines]
        return Reply(Ask(seat, tuple(self.heard[seat]), "replace"))

    def _returns(self) -> list[float]:
        """What each seat has won so far; nothing where the environment has not said."""
        won = [float(value) for value in self.said.get("won", [])] or [0.0] * len(self.seats)
        if len(won) != len(self.seats) or not all(map(math.isfinite, won)):
            raise HostLost(f"it has returns for {len(self.seats)} seats: {won}")
        return won

    def judge(self) -> Mapping[str, Verdict]:
        """The returns. A seat whose turn a limit cut has lost where it plays against others."""
        verdicts = dict(zip(self.seats, map(judged, self._returns()), strict=True))
        broke = [self.seats[seat] for seat in self.said.get("wrong", ())]
        if "end" not in self.said and len(self.seats) > 1:
            broke = [self.seats[self.said.get("seat", 0)]]
            verdicts[broke[0]] = judged(LOST)
        for seat in broke:
            verdicts[seat] = Verdict("fail", "format", "no legal move", scores={PAYOFF: verdicts[seat].scores[PAYOFF]})
        return verdicts

    def save(self) -> None:
        """Where the same acts lead to the same state, they are taken again."""

    def close(self) -> None:
        self.game.close(ended="end" in self.said)


def foreign(make: Callable[[], Game], seats: int, *, repeats: bool) -> World:
    """The world of environments that `make` plays."""
    names = ("policy",) if seats == 1 else tuple(f"player-{seat}" for seat in range(seats))

    def start(spec: Spec, key: Key) -> ForeignPlay:
        return ForeignPlay(make(), spec, names)

    return World(start, tuple(map(Seat, names)), fork="replay" if repeats else "no", apart=True)


def of_library(bridge: Bridge, seats: int) -> World:
    """The world of a library in an environment of its own, which must be installed."""
    line = (str(bridge.python()), "-Es", *bridge.host)
    return foreign(lambda: Hosted(line), seats, repeats=bridge.repeats)
