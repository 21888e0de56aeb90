"""Games for two with rules of our own, small enough that the best play is known exactly.

Both seats write moves as text. What a seat reads at its turn is all that it may know (its *information state*): its own
card and the moves so far. It replaces what the seat read before, so that every turn is asked by itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from assay.rng import Key
from assay.types import Verdict
from assay.worlds.play import Act, Ask, Line, Reply, Seat, Spec, World

SEATS = ("first", "second")
DOMAIN = "matches"
"""The domain of problems whose answers are worth what their verdict calls `PAYOFF`."""
PAYOFF = "payoff"
_IN_BRACKETS = re.compile(r"\[\s*([a-z0-9]{1,12})\s*\]")
_LOOKED_AT = 400  # characters from the end of a turn, among which a move in brackets is looked for

Mixed = Mapping[str, float]
"""Move -> its probability. What is missing to 1 is the probability of what is no legal move."""


@dataclass(frozen=True)
class Rules:
    """A game: all functions are pure. A history is the moves so far, a character for each.

    KUHN.payoff({"first": "king", "second": "jack"}, "bb")  # 2.0
    """

    name: str
    about: str
    levels: range  # of the sizes of the game
    deal: Callable[[np.random.Generator, int], Spec]  # what chance decides at the beginning
    mover: Callable[[str], int]  # history -> who moves: 0 for the first seat, 1 for the second
    legal: Callable[[Spec, str], str]  # the moves that may be made, a character for each; "" when the game is over
    payoff: Callable[[Spec, str], float]  # of the first seat when the game is over; the second one's is the negative
    shown: Callable[[Spec, str], str]  # the information state of who moves: unlike states are unlike texts
    told: Callable[[str], str]  # an information state as a question to a language model
    best: Callable[[str], Mixed]  # information state -> the moves of an equilibrium
    words: Mapping[str, str]  # what language models may write for a move
    worst: float  # what an illegal move costs, and the other player wins: more than any legal move can lose
    hides: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())  # fields of the spec that one seat alone may know

    def read(self, spec: Spec, history: str, text: str) -> str:
        """The legal move that a text makes; "" if it makes none. The whole text, or the last word in brackets."""
        said = text[:_LOOKED_AT].strip().lower()
        if marked := _IN_BRACKETS.findall(text[-_LOOKED_AT:].lower()):
            said = marked[-1]
        move = self.words.get(said, said)
        return move if len(move) == 1 and move in self.legal(spec, history) else ""

    def even(self, spec: Spec, history: str) -> Mixed:
        """All legal moves alike."""
        moves = self.legal(spec, history)
        return {move: 1 / len(moves) for move in moves}


@dataclass
class Match:
    """A play of a game. A seat that makes no legal move loses more than by any legal one: the error is
    its own."""

    rules: Rules
    spec: Spec  # beside what was dealt: `opponent`, how the world plays the second seat (uniform, best); "": a seat
    key: Key
    history: str = ""

    def open(self) -> Reply:
        return Reply(Ask(SEATS[0]))

    def step(self, act: Act) -> Reply:
        move = self.rules.read(self.spec, self.history, act.text)
        if not move:
            return Reply(end="ended", failed=True)
        self.history += move
        while self._moves and self.spec["opponent"] and self.rules.mover(self.history) == 1:
            self.history += self._scripted()
        if not self._moves:
            return Reply(end="ended")
        line = Line(self.rules.shown(self.spec, self.history))
        return Reply(Ask(SEATS[self.rules.mover(self.history)], (line,), "replace"))

    @property
    def _moves(self) -> str:
        return self.rules.legal(self.spec, self.history)

    def _scripted(self) -> str:
        """A move of the opponent that the world plays."""
        if self.spec["opponent"] == "best":
            chances = self.rules.best(self.rules.shown(self.spec, self.history))
        else:
            chances = self.rules.even(self.spec, self.history)
        drawn = self.key("move", self.history).generator().random()
        edges = np.cumsum(list(chances.values()))
        return list(chances)[min(int(np.searchsorted(edges, drawn, side="right")), len(chances) - 1)]

    def judge(self) -> Mapping[str, Verdict]:
        """The payoffs. Who was to move in a game that did not end, because of a limit, has made no move either."""
        unfinished = bool(self._moves)
        mover = self.rules.mover(self.history)
        won = self.rules.worst * (1 if mover else -1) if unfinished else self.rules.payoff(self.spec, self.history)
        verdicts = {name: judged(value) for name, value in zip(SEATS, (won, -won), strict=True)}
        if unfinished:
            verdicts[SEATS[mover]] = Verdict("fail", "format", "no legal move", scores={PAYOFF: -self.rules.worst})
        return {SEATS[0]: verdicts[SEATS[0]]} if self.spec["opponent"] else verdicts

    def save(self) -> bytes:
        return self.history.encode()

    def close(self) -> None:
        """It holds nothing."""


def judged(payoff: float) -> Verdict:
    """The verdict on a seat with this payoff: right where it has won something."""
    won = payoff > 0
    return Verdict("ok" if won else "fail", "" if won else "wrong", answer=f"{payoff:+g}", scores={PAYOFF: payoff})


def match(rules: Rules, *, second: str | None = "policy") -> World:
    """The world of a game. `second`: the role that plays the second seat, None where the world itself plays it; the
    first is the policy's.
    """
    seats = (Seat(SEATS[0], sees=rules.hides[0]),)
    if second is not None:
        seats = (*seats, Seat(SEATS[1], role=second, sees=rules.hides[1]))

    def start(spec: Spec, key: Key) -> Match:
        return Match(rules, spec, key)

    def resume(spec: Spec, key: Key, saved: bytes) -> Match:
        return Match(rules, spec, key, saved.decode())

    return World(start, seats, resume=resume, fork="save", worded=rules.told)
