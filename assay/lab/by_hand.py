"""`assay chat --world`: one problem of a task with a world, played turn by turn, with a person in one of its seats.

The turns go through the collector of a run, so that a person plays under the rules and limits of a policy, and a model
reads what it would read there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.ask import Codec, Sampling
from assay.collect.plays import Acted, Plays, Turn
from assay.collect.turns import generate
from assay.engine.interface import Engine, Generation
from assay.errors import DataError, UsageError
from assay.lab.asking import Asking
from assay.lab.sample import answer_length, asked_with, check_sampling, open_engine, sampling_of
from assay.models import Models
from assay.policy.kinds import tokenizer_of
from assay.rng import Key
from assay.run.setup import Setup
from assay.scoring.bank import questions
from assay.source import Pool
from assay.tasks import TASKS, task
from assay.tasks.verifying import verify
from assay.types import Episode, Problem, Request, Segment
from assay.worlds import World

Json = dict[str, Any]


@dataclass(frozen=True)
class Asked:
    """What a person is asked for: the turn of the own seat, and what is new to read there."""

    seat: str
    reads: str
    left: int  # tokens that the turn may have
    refused: str = ""  # why what was typed last cannot be a turn


Typing = Callable[[Asked], str | None]
"""What a person writes in a turn; None: the person leaves."""


class Left(Exception):
    """The person has left."""


@dataclass(frozen=True)
class ByHand:
    """A problem with a world, a model, and the seat of a person.

    for document in by_hand("wish", "wish:2", seat="policy", seed=3).play(typed):
        print(document)
    """

    problem: Problem
    world: World
    engine: Engine
    codec: Codec
    request: Request
    seat: str  # of the person; "": the model plays every seat
    key: Key

    @property
    def seats(self) -> list[str]:
        return [seat.name for seat in self.world.seats]

    def play(self, typed: Typing) -> Iterator[Json]:
        """A document for the problem, one for each turn, and one for the end. A person sees of the turns of others
        what they say to the person's own seat, and all of them in the last document.
        """
        yield self._problem()
        told = Told(self)
        with Plays(self.codec, self.key, self._models(self.engine)) as plays, self.engine.keeping():
            (turn,) = plays.begin([self.request])
            while True:
                try:
                    written = self._written(turn, told, typed)
                except Left:
                    yield told.end(None, left=True)
                    return
                acted = plays.acted(turn, written)
                while acted.waiting:
                    acted = plays.heard(acted.waiting)
                yield told.turn(turn, written, acted)
                if acted.further is None:
                    yield told.end(acted.complete)
                    return
                turn = acted.further

    def _problem(self) -> Json:
        told = {"task": self.problem.task, "level": self.problem.level, "problem": self.problem.id}
        plain = self.problem.prompt if isinstance(self.problem.prompt, str) else list(self.problem.prompt)
        plain = plain if self.seat in ("", self.seats[0]) else None  # the other seats do not read it
        return {**told, "prompt": plain, "seats": self.seats, "seat": self.seat or None, "tools": self._tools()}

    def _tools(self) -> list[Json]:
        return [{"name": tool.name, "about": tool.about, "schema": dict(tool.schema)} for tool in self.world.tools]

    def _models(self, engine: Any) -> Models:
        roles = {seat.role: "policy" for seat in self.world.seats} | {self.request.role: "policy"}
        return Models({"policy": engine}, roles)

    def _written(self, turn: Turn, told: Told, typed: Typing) -> Episode:
        """The turn, by the model, or by the person if it is that of the person's seat."""
        if turn.seat != self.seat or turn.now.max_new < 1:
            (written,) = generate(self._models(self.engine), [turn.now], self.key, self.codec)
            return written
        asked = Asked(turn.seat, told.unread(turn), turn.now.max_new)
        while (text := typed(asked)) is not None:
            try:
                made = self._tokens(text, turn)
            except DataError as error:
                asked = Asked(turn.seat, "", asked.left, str(error))
                continue
            (written,) = generate(self._models(Typed(made)), [turn.now], self.key, self.codec)
            return written
        raise Left

    def _tokens(self, text: str, turn: Turn) -> Generation:
        """What a person typed as what a sampler writes: up to the first text at which the world replies, or to an end
        token.
        """
        places = [(at, stop) for stop in turn.now.stop if (at := text.find(stop)) >= 0]
        if places:
            at, stop = min(places)
            text = text[: at + len(stop)]
        ids = np.asarray(self.codec.encode(text), np.int32)
        most = turn.now.max_new
        if len(ids) > most:
            raise DataError(f"this turn has {len(ids)} tokens, and may have {most}.")
        whole = bool(places) or not self.codec.end_ids
        if not whole and len(ids) < most:
            ids, whole = np.append(ids, np.int32(min(self.codec.end_ids))), True
        return Generation(Segment(ids, np.zeros(len(ids), np.int8)), "stop" if whole else "length")


@dataclass(frozen=True)
class Typed:
    """A sampler that writes what a person typed."""

    made: Generation

    def generate(self, requests: Sequence[Request], key: Key, *, done: Callable[[int, Generation], None]) -> None:
        for place in range(len(requests)):
            done(place, self.made)


class Told:
    """What was told of a play so far: what each seat has read, and the turns of all."""

    def __init__(self, game: ByHand) -> None:
        self.game = game
        self.read: dict[str, int] = {}  # seat -> tokens of replies that were told
        self.context: dict[str, bytes] = {}  # seat -> what it reads before its answer, as last told
        self.turns: list[Json] = []

    def unread(self, turn: Turn) -> str:
        """What the seat of this turn reads and has not been told: what stands before its answer, where that is new, and
        replies since.
        """
        now, text = turn.now, ""
        context = now.context.tobytes()
        if self.context.get(turn.seat) != context:
            first = turn.seat == self.game.seats[0] and turn.seat not in self.context
            text = "" if first else self.game.codec.decode(now.context.tolist())
            self.context[turn.seat], self.read[turn.seat] = context, 0
        replies = [token for segment in now.prefix if segment.is_reply for token in segment.ids.tolist()]
        fresh = replies[self.read.get(turn.seat, 0) :]
        self.read[turn.seat] = len(replies)
        return text + self.game.codec.decode(fresh)

    def turn(self, turn: Turn, written: Episode, acted: Acted) -> Json:
        """The document of a turn: who wrote what, what it calls, the reply to the seat that is asked next, and what the
        turn earned.
        """
        own = written.segments[len(turn.now.prefix) :]
        ids = [token for segment in own for token in segment.ids.tolist()]
        text = self.game.codec.decode([token for token in ids if token not in self.game.codec.end_ids])
        waits = any(text.endswith(stop) for stop in turn.now.stop)
        calls = self.game.world.act(turn.seat, text, waits=waits, finish=written.finish).calls
        by = "person" if turn.seat == self.game.seat else "model"
        whole: Json = {"turn": len(self.turns) + 1, "seat": turn.seat, "by": by, "text": text, "tokens": len(ids)}
        whole["calls"] = [{"name": c.name, "arguments": dict(c.arguments), "fault": c.fault or None} for c in calls]
        whole["reply"] = self._reply(acted.further)
        whole["earned"] = self._earned(acted, turn.seat)
        self.turns.append(whole)
        if not self.game.seat or turn.seat == self.game.seat:
            return whole
        return whole | {"text": None, "calls": None}

    def _reply(self, further: Turn | None) -> Json | None:
        """What the seat that is asked next has to read. The person is told it when it is the person's turn."""
        if further is None:
            return None
        failed = next((segment.failed for segment in reversed(further.now.prefix) if segment.is_reply), False)
        shown = not self.game.seat or further.seat == self.game.seat
        if shown and further.seat != self.game.seat:
            return {"to": further.seat, "text": self.unread(further), "failed": failed}
        return {"to": further.seat, "text": None, "failed": failed}

    def _earned(self, acted: Acted, seat: str) -> float | None:
        """What the world paid for the last turn of the seat; None where it pays nothing."""
        game = acted.further.game if acted.further else None
        answers = [*acted.complete] if game is None else [*game.seats.values()]
        mine = next((one for one in answers if one.request.seat == seat), None)
        last = None if mine is None else next((s for s in reversed(mine.segments) if len(s) and not s.is_reply), None)
        return None if last is None or last.earned is None else float(last.earned[-1])

    def end(self, answers: Sequence[Episode] | None, *, left: bool = False) -> Json:
        """The last document: how each seat is judged, and all turns."""
        seats = [{"seat": one.request.seat, "finish": one.finish} | _judged(one) for one in answers or ()]
        return {"left": left, "seats": seats, "solution": self.game.problem.solution, "turns": self.turns}


def _judged(answer: Episode) -> Json:
    """The verdict of the world, or else of the task, and what the world paid in all."""
    verdict = answer.verdict
    if verdict is None and answer.finish != "error":
        (verdict,) = verify([answer])
    earned = answer.known("earned")
    told = None if verdict is None else {"status": verdict.status, "kind": verdict.kind, "detail": verdict.detail}
    scores = {} if verdict is None else dict(verdict.scores)
    return {"verdict": told, "scores": scores, "earned": None if earned is None else float(np.nansum(earned))}


def by_hand(
    model: str,
    world: str,
    *,
    seat: str,
    seed: int,
    max_new: int | None,
    temperature: float,
    top_p: float,
    system: str | None,
    precision: Any = "auto",
) -> ByHand:
    """A problem of the task `world`, NAME[:LEVEL], held out from training; the seed says which, and what is sampled."""
    check_sampling(max_new=max_new, temperature=temperature, top_p=top_p)
    pool = Asking(Setup(model=model, task=(world,), system=system or "")).pool()
    spoken = _world(pool.shares[0].task)
    seats = [each.name for each in spoken.seats]
    if seat and seat not in seats:
        raise UsageError(
            f"--seat {seat}: the world of '{pool.shares[0].task}' has no such seat; it has {', '.join(seats)}."
        )
    policy, engine = open_engine(model, system=system, precision=precision)
    tokenizer_of(policy, "a world that speaks")
    (problem,) = _problem(pool, seed)
    most = answer_length(model, pool) if max_new is None else max_new
    most = min(most, engine.context - len(policy.codec.render(problem.prompt)))
    if most < 1:
        raise DataError(f"the question fills the context of the model, which holds {engine.context} tokens.")
    sampling: Sampling = sampling_of(model, policy.codec, most, temperature, top_p)
    asked = asked_with(model, policy.codec)(questions([problem], samples=1, sampling=sampling, codec=policy.codec))
    return ByHand(problem, spoken.spoken(problem.wording), engine, policy.codec, asked[0], seat, Key(seed)("by hand"))


def _problem(pool: Pool, seed: int) -> Sequence[Problem]:
    return pool.held_out(Key("by hand", seed), 1, "test", least=1)


def _world(name: str) -> World:
    """The world of a task that speaks in words."""
    world = task(name).world
    if world is not None and world.numbers is None:
        return world
    what = (
        "has no world: nobody replies there" if world is None else "has a world of numbers, which nobody can speak to"
    )
    others = ", ".join(other for other in TASKS if (one := task(other).world) is not None and one.numbers is None)
    raise UsageError(f"--world: the task '{name}' {what}. Tasks with a world of words: {others}.")
