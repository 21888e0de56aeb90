"""The types of a world. They are plain data: a world neither reads nor writes tokens, and calls no model.

An episode is a *play*. Whoever may speak in it has a *seat*. The world asks a seat (`Ask`), the seat writes (`Act`),
and the world replies (`Reply`) with what it asks next, or with the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

from assay.types import Finish, Verdict

if TYPE_CHECKING:
    import numpy as np

    from assay.rng import Key
    from assay.worlds.speech import Speech

Spec = Mapping[str, Any]
"""What a problem's generator says of an instance: JSON data."""


@dataclass(frozen=True)
class Seat:
    """Somebody who may speak in a play.

    Seat("user", role="user", trains=False, sees=("wish",))  # a model of the recipe that plays the user
    """

    name: str = "policy"
    role: str = "policy"  # the role of the recipe whose model writes here
    trains: bool = True  # whether what it writes becomes an episode that a recipe learns from
    sees: tuple[str, ...] = ()  # fields of the problem's spec that only this seat may read; a check looks for them


@dataclass(frozen=True)
class Tool:
    """Something that a seat may call, described as OpenAI's interface and MCP do.

    Tool("look", "The value of a field.", {"type": "object", "properties": {"field": {"type": "string"}}})
    """

    name: str
    about: str = ""
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})  # JSON schema

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of its arguments, in the order of the schema."""
        return tuple(self.schema.get("properties", {}))


@dataclass(frozen=True)
class Call:
    """A call as it was written. One that cannot be read says why in `fault`, and is the policy's error."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    fault: str = ""


@dataclass(frozen=True)
class Line:
    """What a seat is to read: the words of somebody, or the result of a call."""

    text: str
    author: str = "tool"  # tool, system, user, or the name of a seat


@dataclass(frozen=True)
class Ask:
    """What a world wants next, and from whom."""

    seat: str = "policy"
    say: tuple[Line, ...] = ()  # what this seat has not read yet, beside the prompt of the problem
    context: Literal["append", "replace"] = "append"  # replace: `say` is all that the seat reads from now on
    most: int | None = None  # tokens of this turn alone; None: all that the limit of the answer leaves
    messages: tuple[Mapping[str, Any], ...] = ()  # in place of `say`: messages of a chat, as chat templates read them
    tools: tuple[Mapping[str, Any], ...] = ()  # of which the template tells beside them, as OpenAI describes tools
    stops: tuple[str, ...] = ()  # further texts that end this turn
    seen: np.ndarray | None = None  # float32[F] an observation, for a policy that reads numbers


@dataclass(frozen=True)
class Act:
    """What a seat did in its turn."""

    seat: str
    text: str = ""
    calls: tuple[Call, ...] = ()  # in the order in which they were written
    finish: Finish = "stop"  # length: the turn was cut by the limit of its `Ask`
    action: int | np.ndarray | None = None  # of a policy that reads numbers


@dataclass(frozen=True)
class Numbers:
    """What a world of numbers shows and takes, in place of words: each `Ask` has `seen`, each `Act` an `action`.

    Numbers(observed=4, actions=2)
    """

    observed: int  # numbers of an observation
    actions: int  # discrete actions: 0 .. actions - 1


@dataclass(frozen=True)
class Reply:
    """The world's answer to an act.

    Reply(Ask(say=(Line("4"),)), rewards={"policy": 0.1})  # the policy goes on
    Reply(end="ended")  # the play is over
    """

    ask: Ask | None = None  # None: the play is over; in a world of numbers, at a limit: what would have come next
    end: Literal["", "ended", "limit"] = ""  # its true end, or a limit of the world's, behind which more would come
    rewards: Mapping[str, float] = field(default_factory=dict)  # seat -> reward of its last turn
    costs: Mapping[str, float] = field(default_factory=dict)  # name of a cost -> what the turn cost
    failed: bool = False  # it tells of an error of the policy's
    fault: str = ""  # an error of ours: the play counts for nothing, never as a zero


class Play(Protocol):
    """A running episode of a world."""

    def open(self) -> Reply:
        """What the world wants first. Called once, before `step`."""
        ...

    def step(self, act: Act) -> Reply:
        """The reply to what a seat did. Never raises on what a policy wrote."""
        ...

    def judge(self) -> Mapping[str, Verdict]:
        """Seat -> verdict, when the play is over. A seat without one is judged by the task, from its text."""
        ...

    def save(self) -> bytes | None:
        """The state, for `World.resume`; None: it can only be reached again by the same acts."""
        ...

    def close(self) -> None:
        """Gives back what the play holds: processes, files, connections. It may be called twice."""
        ...


@dataclass(frozen=True)
class World:
    """How plays of a task begin, who speaks in them, and how calls are written.

    World(start=lambda spec, key: Climb(spec, key), seats=(Seat(), Seat("guide", role="guide")), speech=COMPACT)
    """

    start: Callable[[Spec, Key], Play]
    seats: tuple[Seat, ...] = (Seat(),)  # the first is the one that a recipe asks, with the prompt of the problem
    speech: Speech | None = None  # how calls and replies are written; None: nothing is called
    tools: tuple[Tool, ...] = ()
    resume: Callable[[Spec, Key, bytes], Play] | None = None  # the other half of `Play.save`
    fork: Literal["save", "replay", "no"] = "replay"  # how a second play comes to the state of a first one
    apart: bool = False  # its plays wait for others, or may hang: they run in processes of their own
    natural: Speech | None = None  # how calls are written by language models; None: as `speech` says
    worded: Callable[[str], str] | None = None  # a line as language models read it; None: as it stands
    made_of: tuple[str, ...] = ()  # functions of users, FILE.py:FUNCTION, of which other processes make it anew
    servers: tuple[str, ...] = ()  # MCP servers of users, whose tools other processes ask for anew
    externals: tuple[str, ...] = ()  # the foreign programs that its plays run, names in `assay.externals`
    door: str = ""  # settings of agents that are foreign programs and ask in its place (`assay.worlds.door`)
    control: bool = False  # its replies are not those of the task's worked solutions: none is imitated there
    numbers: Numbers | None = None  # of a world that shows observations and takes actions; None: it reads words

    def seat(self, name: str) -> Seat:
        return next(seat for seat in self.seats if seat.name == name)

    def spoken(self, wording: str) -> World:
        """The world as problems of this wording speak in it: `compact` with small models, `natural` with others."""
        if wording == "compact":
            return self if self.worded is None else replace(self, worded=None)
        return self if self.natural is None else replace(self, speech=self.natural)

    @property
    def stops(self) -> tuple[str, ...]:
        """The texts at which a seat pauses for a reply."""
        return self.speech.stops(self.tools) if self.speech else ()

    def act(self, seat: str, text: str, *, waits: bool, finish: Finish = "stop") -> Act:
        """What a seat did by writing this text. `waits`: it stopped at one of the `stops`, and not with its answer."""
        calls = self.speech.read(text, self.tools, waits=waits) if self.speech and finish == "stop" else ()
        return Act(seat, text, calls, finish)

    def lines(self, ask: Ask) -> tuple[Line, ...]:
        """What is said to a seat, in the words that it reads."""
        return ask.say if self.worded is None else tuple(Line(self.worded(one.text), one.author) for one in ask.say)

    def written(self, ask: Ask) -> str:
        """What is said to a seat, as text."""
        lines = self.lines(ask)
        return self.speech.write(lines) if self.speech else "".join(line.text for line in lines)
