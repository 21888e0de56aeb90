"""A play of a world with the answers of its seats: how it is made, comes back to where it was, and is judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from assay.ask import Codec
from assay.collect.hosts import HostedPlay, Hosting, PlayLost, ReplyLog
from assay.collect.spoken import is_own
from assay.errors import AssayError, ConfigError
from assay.rng import Key
from assay.tasks import task
from assay.types import Episode, Ids, Problem, Request, Verdict
from assay.worlds import Act, Ask, Play, Reply, Spec, World
from assay.worlds.faults import checked, replied, told

Maker = Callable[[Sequence[Act], bytes | None, bool], Play]
"""(acts, what was saved behind them, alone) -> the play behind these acts. `alone`: where it can harm no other."""


@runtime_checkable
class TemplateCodec(Protocol):
    """A codec that writes messages by a chat template."""

    def render(self, prompt: Any, *, tools: Sequence[Mapping[str, Any]] | None = None) -> Ids: ...
    def heard(self, texts: Sequence[str], *, ended: bool) -> Ids: ...
    def following(
        self, messages: Sequence[Mapping[str, Any]], *, tools: Sequence[Mapping[str, Any]] | None, ended: bool
    ) -> Ids: ...


@dataclass
class Game:
    """A play with its seats."""

    world: World
    root: Request  # the request that it began with, of the first seat
    make: Maker
    play: Play
    barred: tuple[int, ...] = ()  # the marks that only the world may write, where they are single tokens
    acts: tuple[Act, ...] = ()
    turns: int = 0  # that were written so far
    seats: dict[str, Episode] = field(default_factory=dict)  # what each seat has read and written

    def again(self, act: Act, reply: Reply) -> Reply:
        """The reply to an act after an error of ours, tried once in a play that has come to the same state."""
        if self.world.fork == "no":
            return reply
        fault = self._anew()
        return Reply(fault=fault) if fault else replied(self.play, act)

    def judged(self) -> Mapping[str, Verdict] | str:
        """The verdicts of a play that is over, or why there are none. Where a play apart was lost, a second one
        judges.
        """
        try:
            return _verdicts(self.play)
        except PlayLost as error:
            if self.world.fork == "no":
                return told(error)
        except Exception as error:  # told as the verdict on this play
            return told(error)
        if fault := self._anew():
            return fault
        try:
            return _verdicts(self.play)
        except Exception as error:  # likewise
            return told(error)

    def wrong(self, reply: Reply) -> str:
        """What is wrong with whom a reply asks or rewards; "" if nothing is."""
        seats = [seat.name for seat in self.world.seats]
        if reply.ask is not None and reply.ask.seat not in seats:
            return f"it asks the seat '{reply.ask.seat}', and has {', '.join(seats)}"
        for name in reply.rewards:
            if name not in self.seats or not any(map(is_own, self.seats[name].segments)):
                return f"it rewards the seat '{name}', which has not acted"
        return ""

    def _anew(self) -> str:
        """Begins the play anew and takes its acts again. Returns the fault that hindered it; "" if none did."""
        self.play.close()
        try:
            self.play = self.make(self.acts, None, True)
        except Exception as error:  # told as the fault of this play
            return told(error)
        return ""

    def moment(self) -> Moment:
        """The state now, from which other plays can go on."""
        saved = self.play.save() if self.world.fork == "save" else None
        return Moment(self, self.acts, dict(self.seats), saved)


def _verdicts(play: Play) -> Mapping[str, Verdict]:
    verdicts = play.judge()
    if not isinstance(verdicts, Mapping) or not all(isinstance(verdict, Verdict) for verdict in verdicts.values()):
        raise TypeError(f"`judge` returned {verdicts!r:.60} in place of verdicts by seat")
    return verdicts


@dataclass(frozen=True)
class Moment:
    """The state of a play behind some acts, from which others go on."""

    game: Game
    acts: tuple[Act, ...]
    seats: dict[str, Episode]
    saved: bytes | None


def maker(world: World, request: Request, key: Key, how: Hosting, log: ReplyLog) -> Maker:
    """The function that makes the play of a request, here or in a process of its own, with randomness of its own."""
    name, own = request.problem.task, key("play", request.id)
    spec = as_told(request.problem) if world.door else request.problem.spec

    def made(acts: Sequence[Act], saved: bytes | None, alone: bool) -> Play:
        if world.apart:
            return HostedPlay(how.hosts, log, name, spec, own, acts, saved, alone=alone)
        if saved is not None and world.resume is not None:
            return world.resume(spec, own, saved)
        play = world.start(spec, own)
        if acts:
            play.open()
        for act in acts:
            play.step(act)
        return play

    return made


def as_told(problem: Problem) -> Spec:
    """A problem for the program of an agent: its question, and `spec`, which may hold the answer, apart from it."""
    spec = problem.spec
    told = {"id": problem.id, "task": problem.task, "prompt": problem.prompt, "columns": spec.get("columns") or {}}
    return {**told, "spec": dict(spec)}


def opened(make: Maker, first: Play | None = None, *, once: bool = False) -> tuple[Play, Reply]:
    """A play, and what it wants first. One that an error of the world's hinders is tried once more, unless `once`.
    `first` is the play, if it was made ahead.
    """
    fault = ""
    for alone in (False,) if once else (False, True):
        with ExitStack() as stack:
            try:
                play = make((), None, alone) if alone or first is None else first
                stack.callback(play.close)
                reply = checked(play.open())
                fault = reply.fault
            except PlayLost as error:
                fault = str(error)
            except AssayError:  # what the user is told to change
                raise
            except Exception as error:  # told as the fault of this play; others go on
                fault = told(error)
            else:
                if not fault:
                    stack.pop_all()
                    return play, reply
    raise PlayLost(fault)


def barred(world: World, codec: Codec) -> tuple[int, ...]:
    """The tokens that are marks which only the world may write. A mark of several tokens ends a turn instead."""
    marks = [codec.encode(mark) for mark in (world.speech.markers if world.speech else ())]
    return tuple(sorted({int(ids[0]) for ids in marks if len(ids) == 1}))


def require_template(codec: Codec, game: Game) -> TemplateCodec:
    """The codec, which must write messages by a chat template (ConfigError)."""
    if not isinstance(codec, TemplateCodec):
        raise ConfigError(
            f"the world of '{game.root.problem.task}' is spoken in a chat template's own way, and this policy has no "
            "template. Take a language model that has one."
        )
    return codec


def conversation(game: Game, ask: Ask, codec: Codec) -> Ids:
    """What a seat is to read from its beginning: a prompt of text, or messages in which its own words are the
    assistant's.
    """
    if ask.messages:
        return require_template(codec, game).render(ask.messages, tools=ask.tools or None)
    wording = game.root.problem.wording
    if wording == "compact":
        return codec.render("".join(line.text for line in game.world.lines(ask)))
    roles = {"system": "system", ask.seat: "assistant", "tool": "tool"}
    said = tuple({"role": roles.get(line.author, "user"), "content": line.text} for line in game.world.lines(ask))
    return codec.render(said)


def in_play(request: Request) -> bool:
    """Whether the request is for a turn in a world of words. A given answer is complete, and nobody replies to it."""
    if not request.seat or request.max_new == 0:
        return False
    world = task(request.problem.task).world
    return world is not None and world.numbers is None
