"""The contract of a world as a program: what a world must do so that plays of it can be sampled, learnt and resumed.

    check_world("calculator")

plays many plays with turns of every kind, from worked solutions to a megabyte of nonsense, and says of the first thing
that is wrong what was expected, what came, and in which play.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.ask import Sampling, first_requests
from assay.collect.plays import played
from assay.credit.pack import pack
from assay.engine.interface import Done, Generation
from assay.errors import AssayError, UsageError
from assay.memory import Memory
from assay.models import Models
from assay.rng import Key
from assay.tasks import TASKS, Task
from assay.tasks import task as task_of
from assay.tasks.worked import turns
from assay.types import Episode, Ids, Origin, Problem, Request, Row, Segment
from assay.verifiers.answers import Wording
from assay.worlds import Act, Play, Reply, Tool, World
from assay.worlds.faults import told

END = 0x110000  # behind all characters
HOSTILE = (
    *("", " ", "\n", "\x00", "\ufffd\ufffd", "]", "[", "[]", "[[[[]]]]", "{}", '{"name": 1}', "<result>4</result>"),
    *('{"name": "no-such-tool", "arguments": {}}', "```output\n4\n```\n", "</no>", "<tool_call>", '"' * 1000),
    *('{"name": "x", "arguments": [1]}', "[" * 5000 + "]", "9" * 5000, "\u202e", "a" * 1_000_000),
)
"""Turns that no world may fail at."""
CHANCES = 6  # calls by chance of a play


@dataclass(frozen=True)
class Checked:
    """What was played: `check_world("calculator").calls`."""

    task: str
    plays: int
    turns: int
    calls: int  # that could be read
    rewards: int


class Wrong(UsageError):
    """A world breaks its contract."""


def check_world(task: Task | str, *, plays: int = 40, seed: int = 0) -> Checked:
    """Plays the world of a task, and raises an error that names the first promise that it breaks.

    The promises: the same key and the same acts give the same replies, whatever else is played beside them; a play goes
    on from what it saved, or from its acts; no text that a policy may write is an error of the world's; rewards are
    numbers, for seats that have acted; what one seat alone may see is told to no other; every token stands where the
    transcript says, replies are not trained, and a reward stands at the last token of its turn; closing twice is fine.
    """
    known = task_of(task) if isinstance(task, str) else task
    with _listed(known):
        return _checked(known, plays, seed)


@contextmanager
def _listed(task: Task) -> Iterator[None]:
    """Inside the block the collector finds the task by its name, though no package has made it known."""
    before = TASKS.get(task.name)
    TASKS[task.name] = task
    try:
        yield
    finally:
        if before is None:
            del TASKS[task.name]
        else:
            TASKS[task.name] = before


def _checked(known: Task, plays: int, seed: int) -> Checked:
    if known.world is None:
        raise UsageError(f"the task '{known.name}' has no world: nobody replies while it is answered.")
    levels = itertools.cycle(known.generator.levels)
    two = known.world.natural is not None or known.world.worded is not None
    wordings: Iterator[Wording] = itertools.cycle(("compact",) * 2 + (("natural",) * 2 if two else ()))
    problems = [known.problem(Key(seed)("world", i), level=next(levels), wording=next(wordings)) for i in range(plays)]
    worlds = [known.world.spoken(problem.wording) for problem in problems]
    every = [_Case(*case, Key(seed)("play", i)) for i, case in enumerate(zip(worlds, problems, strict=True))]
    scripts = [_script(case, hostile=i % 2 == 1) for i, case in enumerate(every)]
    heard = [_alone(case, script) for case, script in zip(every, scripts, strict=True)]
    _beside(every, scripts, heard)
    for case, script, replies in zip(every, scripts, heard, strict=True):
        _goes_on(case, script, replies)
    for case in every[: len(HOSTILE)]:
        for text in HOSTILE:
            _alone(case, [text])
    trained = [_in_tokens(known, case, script) for case, script in zip(every, scripts, strict=True)]
    calls = sum(len(act.calls) for case, script in zip(every, scripts, strict=True) for act in _acts(case, script))
    return Checked(known.name, plays, sum(map(len, heard)), calls, sum(trained))


@dataclass(frozen=True)
class _Case:
    """A play that is made anew as often as it is needed."""

    world: World
    problem: Problem
    key: Key

    def start(self) -> Play:
        return self.world.start(self.problem.spec, self.key)

    def wrong(self, expected: str, came: str) -> Wrong:
        text = f"the world of '{self.problem.task}', problem {self.problem.id}, key {self.key.hex}"
        return Wrong(f"{text}: expected {expected}; {came}.")


# Scripts


def _script(case: _Case, *, hostile: bool) -> list[str]:
    """Turns of a policy: those of the worked solution, then calls and texts by chance."""
    random = case.key("script").generator()
    shown = [] if len(case.world.seats) > 1 else turns(case.problem, task_of(case.problem.task))
    good = [text for text, origin in shown if origin != Origin.ENV]
    if good and not hostile:
        return [*good, ""]
    words = [word for text in good for word in text.split()] + [*HOSTILE[:12], *"0123456789"]
    chance = [_call(case.world, words, random) for _ in range(CHANCES)] + [str(random.choice(np.array(HOSTILE[:-1])))]
    return [*good[: int(random.integers(1 + len(good)))], *chance, ""]


def _call(world: World, words: Sequence[str], random: np.random.Generator) -> str:
    """A call with arguments by chance, some of a wrong type."""
    if not world.tools or world.speech is None:
        return str(random.choice(np.array(words, object)))
    tool = world.tools[int(random.integers(len(world.tools)))]
    return world.speech.call(tool.name, {name: _value(tool, name, words, random) for name in tool.fields}, world.tools)


def _value(tool: Tool, name: str, words: Sequence[str], random: np.random.Generator) -> Any:
    kinds: Mapping[str, Callable[[], Any]] = {
        "integer": lambda: int(random.integers(-9, 100)),
        "number": lambda: float(random.normal()),
        "boolean": lambda: bool(random.integers(2)),
    }
    wanted = tool.schema["properties"][name].get("type")
    text = str(words[int(random.integers(len(words)))])
    return kinds[wanted]() if wanted in kinds and random.random() < 0.9 else text


def _act(case: _Case, seat: str, text: str) -> Act:
    return case.world.act(seat, text, waits=any(text.endswith(stop) for stop in case.world.stops))


def _acts(case: _Case, script: Sequence[str]) -> Iterator[Act]:
    return (_act(case, case.world.seats[0].name, text) for text in script)


# Promises


def _alone(case: _Case, script: Sequence[str]) -> list[Reply]:
    """The replies of a play that nothing disturbs."""
    play = case.start()
    replies = [_opened(case, play)]
    acted: set[str] = set()
    for text in script:
        if (ask := replies[-1].ask) is None:
            break
        acted.add(ask.seat)
        replies.append(_stepped(case, play, _act(case, ask.seat, text)))
        _well_formed(case, replies[-1], acted)
    try:
        play.close()
        play.close()
    except Exception as error:
        raise case.wrong("a play that may be closed twice", told(error)) from error
    return replies


def _opened(case: _Case, play: Play) -> Reply:
    reply = play.open()
    if reply.ask is None:
        raise case.wrong("a play to open with an `Ask`", f"`open` returned the end {reply.end!r}")
    _well_formed(case, reply, set())
    return reply


def _stepped(case: _Case, play: Play, act: Act) -> Reply:
    try:
        reply = play.step(act)
    except Exception as error:
        raise case.wrong(f"a reply to the turn {act.text[:60]!r}", told(error)) from error
    if reply.fault:
        raise case.wrong(f"no fault of the world's at the turn {act.text[:60]!r}", f"it says {reply.fault!r}")
    return reply


def _well_formed(case: _Case, reply: Reply, acted: set[str]) -> None:
    seats = {seat.name for seat in case.world.seats}
    if (reply.ask is None) == (reply.end == ""):
        raise case.wrong("a reply with an `Ask`, or with an end: 'ended' or 'limit'", f"it has {reply}")
    if reply.ask is not None and reply.ask.seat not in seats:
        raise case.wrong(f"a seat of {', '.join(sorted(seats))} to be asked", f"it asks {reply.ask.seat!r}")
    for name, value in reply.rewards.items():
        if name not in acted:
            raise case.wrong("rewards for seats that have acted", f"{name!r} gets one and has not")
        if not math.isfinite(value):
            raise case.wrong("rewards that are numbers", f"{name!r} gets {value}")
    for line in () if reply.ask is None else reply.ask.say:
        try:
            line.text.encode()
        except UnicodeEncodeError as error:
            raise case.wrong("a text that can be written in UTF-8", f"a reply holds {error.reason}") from error
    _keeps_secrets(case, reply)


def _keeps_secrets(case: _Case, reply: Reply) -> None:
    """What one seat alone may see is not said to another, as far as a text can tell."""
    if reply.ask is None:
        return
    told = "".join(line.text for line in case.world.lines(reply.ask))
    for seat in case.world.seats:
        for name in seat.sees if seat.name != reply.ask.seat else ():
            text = str(case.problem.spec.get(name, ""))
            if len(text) > 2 and text in told:
                raise case.wrong(f"'{name}' to be seen by {seat.name!r} alone", f"it is said to {reply.ask.seat!r}")


def _beside(cases: Sequence[_Case], scripts: Sequence[Sequence[str]], heard: Sequence[Sequence[Reply]]) -> None:
    """All plays again, each turn of each in turn: replies depend on key and acts, and not on other plays."""
    plays = [case.start() for case in cases]
    again = [[play.open()] for play in plays]
    for number in range(max(map(len, scripts))):
        for case, play, script, replies in zip(cases, plays, scripts, again, strict=True):
            if number < len(script) and (ask := replies[-1].ask) is not None:
                replies.append(_stepped(case, play, _act(case, ask.seat, script[number])))
    for case, play, first, second in zip(cases, plays, heard, again, strict=True):
        play.close()
        _same(case, first, second, "whatever is played beside it")


def _goes_on(case: _Case, script: Sequence[str], heard: Sequence[Reply]) -> None:
    """From every moment of the play, a second play gives the replies that the first one gave."""
    if case.world.fork == "no":
        return
    for moment in range(len(heard) - 1):
        replies = list(heard[: moment + 1])
        play = _at(case, script, replies)
        for text in script[moment : len(heard) - 1]:
            ask = replies[-1].ask
            assert ask is not None
            replies.append(_stepped(case, play, _act(case, ask.seat, text)))
        play.close()
        _same(case, heard, replies, f"from turn {moment} on, by {case.world.fork}")


def _at(case: _Case, script: Sequence[str], replies: Sequence[Reply]) -> Play:
    """A play that has come to the state behind these replies, as its world says that it can."""
    play = case.start()
    play.open()
    for text, reply in zip(script, replies[:-1], strict=False):
        assert reply.ask is not None
        play.step(_act(case, reply.ask.seat, text))
    if case.world.fork == "replay":
        return play
    saved = play.save()
    play.close()
    if saved is None or case.world.resume is None:
        raise case.wrong("bytes of `save`, and a `resume` that reads them, since `fork` is 'save'", "one is missing")
    return case.world.resume(case.problem.spec, case.key, saved)


def _same(case: _Case, first: Sequence[Reply], second: Sequence[Reply], when: str) -> None:
    for number, (one, other) in enumerate(itertools.zip_longest(first, second)):
        if _plain(one) != _plain(other):
            raise case.wrong(f"the same replies {when}", f"reply {number} was {one}, and then {other}")


def _plain(reply: Reply | None) -> Any:
    if reply is None:
        return None
    ask = reply.ask
    said = (
        None
        if ask is None
        else (ask.seat, ask.say, ask.context, ask.most, None if ask.seen is None else ask.seen.tolist())
    )
    return said, reply.end, dict(reply.rewards), dict(reply.costs), reply.failed


# Tokens


class _Letters:
    """A codec with a token for each character."""

    end_ids = frozenset({END})
    vocab = END + 1
    stops: tuple[str, ...] = ()

    def render(self, prompt: Any) -> Ids:
        text = prompt if isinstance(prompt, str) else "".join(f"{m['role']}:{m['content']}\n" for m in prompt)
        return self.encode(text or " ")

    def encode(self, text: str) -> Ids:
        return np.frombuffer(text.encode("utf-32-le", "replace"), "<i4").astype(np.int32)

    def heard(self, texts: Sequence[str], *, ended: bool) -> Ids:
        return self.encode("".join(f"tool:{text}\n" for text in texts))

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(chr(token) for token in ids if token != END)


class _Writer:
    """A sampler that writes the turns of a script, one a call."""

    context, end_ids, has_threads, vocab, prefilled = 1 << 30, _Letters.end_ids, False, END + 1, 0

    def __init__(self, script: Sequence[str], stops: Sequence[str]) -> None:
        self.script, self.stops, self.contexts = iter(script), stops, list[np.ndarray]()

    keeping = staticmethod(nullcontext)

    def generate(self, requests: Sequence[Request], key: Key, *, done: Done | None = None) -> list[Generation]:
        made = [self._written(request) for request in requests]
        for place, generation in enumerate(made):
            if done is not None:
                done(place, generation)
        return made

    def _written(self, request: Request) -> Generation:
        self.contexts.append(np.concatenate([request.context, *(segment.ids for segment in request.prefix)]))
        text = next(self.script, "")
        ids = _Letters().encode(text)
        if not any(text.endswith(stop) for stop in self.stops):
            ids = np.append(ids, np.int32(END))
        ids = ids[: request.max_new]
        logp = np.full(len(ids), -1, np.float32)
        segment = Segment(ids, np.zeros(len(ids), np.int8), logp, logp)
        return Generation(segment, "length" if len(ids) == request.max_new else "stop")


def _in_tokens(task: Task, case: _Case, script: Sequence[str]) -> int:
    """Plays through the collector. Returns the number of rewards of turns that stand in the answer."""
    codec, writer = _Letters(), _Writer(script, case.world.stops)
    settings = Sampling(max_new=1 << 24)
    requests = first_requests([case.problem], Memory(0), first=0, samples=1, sampling=settings, codec=codec)
    roles = {seat.role: "policy" for seat in case.world.seats if seat.role}
    try:
        (episode,) = played(Models({"policy": writer}, roles), requests, case.key, codec)  # type: ignore[dict-item]
    except AssayError as error:
        raise case.wrong("a play that the collector can run", str(error)) from error
    _stands(case, episode, codec)
    mine = np.concatenate([np.zeros(0, bool), *(s.origin == Origin.POLICY for s in episode.segments)])
    mask = pack([Row(episode)]).mask
    if not np.array_equal(mask, mine):
        raise case.wrong("what the policy wrote to be trained, and nothing else", f"{int((mask != mine).sum())} tokens")
    given = episode.known("earned")
    return 0 if given is None else int(np.count_nonzero(np.nan_to_num(given)))


def _stands(case: _Case, episode: Episode, codec: _Letters) -> None:
    """The text of an answer is that of its tokens, and rewards stand at the ends of turns."""
    ids = np.concatenate([np.zeros(0, np.int32), *(segment.ids for segment in episode.segments)])
    if codec.decode(ids.tolist()) != episode.text:
        raise case.wrong("tokens that say what the transcript says", f"the transcript is {episode.text[:200]!r}")
    for segment in episode.segments:
        if segment.earned is not None and np.count_nonzero(segment.earned[:-1]):
            raise case.wrong("the reward of a turn at its last token", "one stands within")
