"""What travels between the phases of the loop. Host data only: numpy arrays and frozen records, no torch.

A stream that nobody filled is None, never a missing key. `assay/streams.py` defines streams, and `Batch`. A *response*
token is any token after the training context, written by the policy or by others; `Origin` says by whom.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeVar

import numpy as np

from assay.light import light
from assay.prompt import Prompt, Question
from assay.rng import digest
from assay.streams import Batch as Batch
from assay.streams import (
    Beyond,
    Carried,
    Continuations,
    Costs,
    Floats,
    Ids,
    Stream,
    TokenCodes,
    TokenFlags,
    TokenFloats,
    TokenIds,
    WideFloats,
    WideIds,
    streams_of,
    token_streams,
)

Record = TypeVar("Record")


@functools.cache
def _known(kind: type) -> tuple[frozenset[str], tuple[str, ...]]:
    """The names of a record's fields, and of the properties that it computes once and remembers."""
    own = [(name, one) for base in kind.__mro__ for name, one in vars(base).items()]
    remembered = tuple(name for name, one in own if isinstance(one, functools.cached_property))
    return frozenset(field.name for field in dataclasses.fields(kind)), remembered


def changed(record: Record, **changes: Any) -> Record:
    """As `dataclasses.replace`, at a tenth of its cost, for records whose constructor only stores what it is given.

    changed(episode, verdict=Verdict.ok())
    """
    kind = type(record)
    fields, remembered = _known(kind)
    if not fields.issuperset(changes):
        raise TypeError(f"{kind.__name__} has no field {', '.join(sorted(changes.keys() - fields))}")
    made = object.__new__(kind)
    state = made.__dict__
    state.update(record.__dict__)
    for name in remembered:
        state.pop(name, None)
    state.update(changes)
    return made


class Origin:
    """The writer of a token. Only POLICY tokens have a behaviour probability. These are plain numbers, because every
    row is compared with them again and again, and members of an enumeration are slow to look up and to compare.
    """

    POLICY = 0
    INJECTED = 1  # a teacher's trace, a solution prefix, a forced hint
    ENV = 2  # a tool's reply, another player's words


Finish = Literal["stop", "length", "pause", "error"]


CONTROLS = ("silent:", "shuffled:")
"""How names of tasks begin that are controls of another: they have its problems, and reply otherwise."""


def asked_in(task: str) -> str:
    """The name of the task whose problems a task has: of a control that of its task, of any other its own."""
    return next((task.removeprefix(kind) for kind in CONTROLS if task.startswith(kind)), task)


@dataclass(frozen=True)
class Problem:
    """One instance of a task. Its identity is its canonical content: equal content, equal id, on every machine."""

    task: str
    prompt: Question  # text, or messages for a chat template, which may show pictures
    spec: Mapping[str, Any]  # what the checker needs; JSON data
    canonical: str  # the content that decides identity and split
    level: int = 0
    domain: str = ""
    solution: str | None = None  # worked solution in the wording of the prompt, ending in the answer
    hints: tuple[str, ...] = ()
    parents: tuple[str, ...] = ()  # ids this one was derived from
    provenance: str = "task"
    wording: Literal["compact", "natural"] = "compact"

    @functools.cached_property
    def id(self) -> str:
        """Rows of files are known by their content, whichever folder the files are in, and problems of a control of a
        task are those of the task.
        """
        return digest("problem", "data" if self.provenance == "data" else asked_in(self.task), self.canonical)

    @property
    def open(self) -> bool:
        """Whether no verifier can say if an answer is right: a row of data without a reference answer."""
        return self.provenance == "data" and self.spec.get("gold") is None

    def column(self, name: str) -> Any:
        """The value of a column of a row of data, or of a field that the checker of a task reads; None without it."""
        columns = self.spec.get("columns")
        return (columns if isinstance(columns, Mapping) else self.spec).get(name)


@light
@dataclass(frozen=True)
class Verdict:
    """The verdict on an answer. `invalid` is an error of ours: the answer is verified again; if that fails too, it has
    no reward, does not train, and is counted.
    """

    status: Literal["ok", "fail", "invalid"]
    kind: str = ""  # wrong, format, empty, truncated, time, ... / worker_lost, bad_gold, bug, ...
    detail: str = ""
    answer: str | None = None  # the answer that was found, in canonical form; None if there was none
    scores: Mapping[str, float | None] = field(default_factory=dict)  # the score that each reward function gave it

    @classmethod
    def ok(cls, answer: str | None = None) -> Verdict:
        return cls("ok", answer=answer)

    @classmethod
    def fail(cls, kind: str, detail: str = "", answer: str | None = None) -> Verdict:
        return cls("fail", kind, detail, answer)

    @classmethod
    def invalid(cls, kind: str, detail: str = "") -> Verdict:
        return cls("invalid", kind, detail)


@light
@dataclass(frozen=True, eq=False)
class Segment:
    """A run of tokens with, for each, its origin and the two log-probabilities the sampler knew when it wrote it.

    In a world of numbers each token is a step: it was chosen where `seen` was observed, and the world answered with
    what it `earned`.
    """

    ids: TokenIds
    origin: TokenCodes  # values of Origin
    old: TokenFloats | None = None  # log-prob under the full softmax at the row's temperature; NaN where none is known
    mu: TokenFloats | None = None  # log-prob under the filtered distribution really sampled from; NaN likewise
    entropy: TokenFloats | None = None  # of the full softmax at the row's temperature
    all_logp: WideFloats | None = None  # log-probs of `top_ids`, where a method compares distributions
    top_ids: WideIds | None = None  # the likeliest tokens, ascending; None: all that there are
    seen: WideFloats | None = None  # [T, F] observed before the step; [T, K, F] of K candidates, NaN where it has fewer
    action: WideFloats | None = None  # [T, A] what was done, where it is numbers; None: `ids` say it
    earned: TokenFloats | None = None  # the rewards that a world gave, each at the last token of its turn or step
    continues: Continuations | None = None  # the world's own discount of all that follows the step; None: 1
    cost: Costs | None = None  # [T, K] what the step cost, for each of K constraints of its world
    after: Floats | None = None  # [F] what was observed behind the last step, where a limit cut the episode off
    version: int = 0  # policy version that sampled it
    node: str = ""
    parent: str = ""
    context: Ids | None = None  # what was read before it, if a world replaced it; None: it goes on from the one before
    failed: bool = False  # a reply that tells of an error

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def is_reply(self) -> bool:
        """Whether others wrote it for a seat to read."""
        return len(self.ids) > 0 and bool(self.origin[0] == Origin.ENV)

    @functools.cached_property
    def written(self) -> tuple[float, int]:
        """The log-prob of its tokens by the policy, as sampled, and the number of these tokens."""
        if self.old is None:
            return 0.0, 0
        known = self.old[(self.origin == Origin.POLICY) & np.isfinite(self.old)]
        return float(known.sum(dtype=np.float64)), len(known)

    def first(self, count: int) -> Segment:
        """The first `count` tokens of the segment. They keep the node, because a token keeps its place in its node."""
        return dataclasses.replace(self, **{name: array[:count] for name, array in token_streams(self).items()})

    def unsampled(self) -> Segment:
        """The segment with its tokens and their origins, without the log-probs and other streams of the sampler."""
        said = token_streams(self).keys() - {"ids", "origin"}
        return dataclasses.replace(self, **dict.fromkeys(said))


def end_to_end(segments: Sequence[Segment], name: str) -> np.ndarray:
    """A stream of these segments, end to end; its `fill`, or NaN, over segments that lack it. Where steps have
    different numbers of candidates, all have as many as the most.
    """
    pieces = [getattr(segment, name) for segment in segments]
    if len(pieces) == 1 and pieces[0] is not None:
        return pieces[0].copy()
    declared = streams_of(Segment)[name]
    fill = np.nan if declared.fill is None else declared.fill
    shape = _widest([piece.shape[1:] for piece in pieces if piece is not None]) if declared.wide else ()
    for place, piece in enumerate(pieces):
        if piece is None or piece.shape[1:] != shape:
            pieces[place] = _widened(piece, len(segments[place]), shape, fill, declared.dtype)
    return np.concatenate(pieces) if pieces else np.zeros((0, *shape), declared.dtype)


def _widest(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape that contains all of these; ValueError if they have different numbers of axes, or of features."""
    if len({(len(shape), *shape[-1:]) for shape in shapes}) > 1:
        raise ValueError(f"numbers of these shapes cannot stand in one stream: {', '.join(map(str, shapes))}")
    return tuple(max(sizes) for sizes in zip(*shapes, strict=True))


def _widened(piece: np.ndarray | None, count: int, shape: tuple[int, ...], fill: float, dtype: str) -> np.ndarray:
    """The piece in the corner of an array of this shape a token, with `fill` around it."""
    made = np.full((count, *shape), fill, dtype)
    if piece is not None:
        made[tuple(slice(size) for size in piece.shape)] = piece
    return made


def first_tokens(segments: Sequence[Segment], count: int) -> tuple[Segment, ...]:
    """The first `count` tokens of an answer, to be the prefix of another request."""
    starts = np.concatenate([[0], np.cumsum([len(segment) for segment in segments])])
    return tuple(s.first(count - int(start)) for s, start in zip(segments, starts, strict=False) if start < count)


@light
@dataclass(frozen=True, eq=False)
class Request:
    """One sample that is asked for."""

    problem: Problem
    context: Ids  # what the policy reads when it generates
    group: str  # requests of one group are compared with each other: written here, never inferred
    max_new: int
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0  # 0: off
    min_p: float = 0.0
    stop: tuple[str, ...] = ()
    draw: int = 0  # ordinal of this draw of problems in the step
    sample: int = 0
    round: int = 0
    role: str = "policy"
    prefix: tuple[Segment, ...] = ()  # tokens of the answer that exist already
    parent: str = ""  # the node that this request continues
    fork: int = 0  # token index in the parent at which this request leaves it
    pauses: bool = False  # an answer that reaches `max_new` waits to be continued, and does not count as cut
    marks: tuple[str, ...] = ()  # an answer waits after these texts, which stand in `stop` too, and not at `max_new`
    halts: bool = False  # an answer waits behind each reply of its world, to be continued
    train_context: Ids | None = None  # the prompt that the policy is trained to answer; None: `context`
    tag: str = ""
    barred: tuple[int, ...] = ()  # tokens that are not drawn, though the policy knows them
    seat: str = ""  # the seat of the task's world that the request speaks for; "": nobody replies to it
    max_replies: int = 0  # the most tokens of replies; 0: replies count towards `max_new`
    longest_reply: int = 0  # tokens; what is longer is cut, and says so; 0: no limit
    max_calls: int | None = None  # turns that are replied to; the next one that calls is cut off; None: no limit
    recalled: int | None = None  # tokens of each reply before the last one that are still read; None: all
    worded: Prompt | None = None  # the prompt with the texts that parts added; None: the problem's own question, bare

    @property
    def prompt(self) -> Prompt:
        """The prompt behind `context`, before it is rendered: a part that writes more into it starts here."""
        return self.worded or Prompt.of(self.problem)

    @property
    def hinted(self) -> bool:
        """Whether its prompt shows more than the problem asks: a hint, a part of the solution."""
        return self.worded is not None and self.worded.hinted

    @functools.cached_property
    def id(self) -> str:
        """A digest of the question, and of the request's place in the step. A group that came of another one
        (`GROUP/NAME`) counts its samples anew, so its name is a part of the place.
        """
        tokens = [ids.astype("<i4", copy=False).tobytes() for ids in (self.context, *(s.ids for s in self.prefix))]
        place = (self.problem.id, self.draw, self.sample, self.round, self.parent, self.fork, self.role)
        _, derived, name = self.group.partition("/")
        return digest("request", *place, *((name,) if derived else ()), *tokens)

    @property
    def given(self) -> int:
        """The number of tokens of the answer that exist before it is asked."""
        return sum(len(segment) for segment in self.prefix)

    @property
    def helped(self) -> bool:
        """Whether it is asked with more than the question: its answer then says little about the bare policy."""
        given = any((s.origin == Origin.INJECTED).any() for s in self.prefix)
        return self.hinted or self.train_context is not None or given


RewardScope = Literal["episode", "turn", "span", "token"]


@light
@dataclass(frozen=True, eq=False)
class Reward:
    """A named part of the reward. Episode scope: one number. Other scopes: values at token indices of the answer."""

    name: str
    value: float  # of other scopes than `episode`: the sum of the values
    scope: RewardScope = "episode"
    values: Floats | None = None
    at: np.ndarray | None = None  # int32, the last token of each turn or span; of tokens: None where all have a value
    invalid: str = ""  # the kind of an error of ours: the value is NaN, and the answer has no reward at all
    unread: bool = False  # a role was asked, and no judgement of it can be read: the value is NaN and counts nowhere
    parts: tuple[Reward, ...] = ()  # the rewards of which this one is made
    about: str = ""  # the criterion that it scores, in words

    @classmethod
    def unknown(cls, name: str, kind: str, parts: tuple[Reward, ...] = ()) -> Reward:
        """The reward of an answer that nobody could verify or judge: `Reward.unknown("judge", "judge_down")`."""
        return cls(name, math.nan, invalid=kind, parts=parts)

    @classmethod
    def no_judgement(cls, name: str, parts: tuple[Reward, ...] = ()) -> Reward:
        """The reward of an answer that a role was asked about without writing anything that can be read. The answer
        keeps its other rewards, and a metric counts it: `Reward.no_judgement("scored-by")`.
        """
        return cls(name, math.nan, unread=True, parts=parts)

    def dense(self, tokens: int) -> Floats:
        """The values of a turn, span or token reward at the tokens of an answer of this length, 0 elsewhere."""
        found = np.zeros(tokens)
        if self.scope != "episode" and self.values is not None:
            np.add.at(found, np.arange(tokens) if self.at is None else self.at, self.values)
        return found

    def named(self, above: str = "") -> Iterator[tuple[str, Reward]]:
        """This reward and those of which it is made, with their paths as names: `sum`, `sum/outcome`, `sum/judge`."""
        path = f"{above}/{self.name}" if above else self.name
        yield path, self
        for part in self.parts:
            yield from part.named(path)


class Path(NamedTuple):
    """The tokens `start` to `stop` of an answer, and what the policy read before the first of them."""

    context: Ids
    start: int
    stop: int


@light
@dataclass(frozen=True, eq=False)
class Episode:
    """The outcome of a request. Its answer is all segments end to end, the request's prefix included."""

    request: Request
    segments: tuple[Segment, ...]
    finish: Finish
    text: str = ""  # of the answer, without end tokens; for checkers and readers, never encoded again
    verdict: Verdict | None = None
    rewards: tuple[Reward, ...] = ()
    context: Ids | None = None  # training context; None: that of the request
    path: tuple[str, ...] = ()  # tree nodes from the root
    provenance: Literal["fresh", "replay", "teacher"] = "fresh"

    @functools.cached_property
    def reward(self) -> float | None:
        """Sum of the episode-scope parts; None where an error of ours left the episode without a verdict or without one
        of its rewards, or where no part had anything to say: the rows that it depends on were lost, or no judgement of
        it can be read.
        """
        said = [part for part in self.rewards if not part.unread]
        if (self.verdict is not None and self.verdict.status == "invalid") or not said:
            return None
        if any(part.invalid for part in said):
            return None
        return float(sum(part.value for part in said if part.scope == "episode"))

    @property
    def dense(self) -> Floats | None:
        """The rewards of its turns, spans and tokens, at its tokens; None if it has no such rewards."""
        parts = [part.dense(len(self)) for part in self.rewards if part.scope != "episode" and not part.unread]
        return np.sum(parts, axis=0) if parts else None

    @property
    def paid(self) -> bool:
        """Whether its world paid for each step, as worlds of numbers do: then that is all that it is worth."""
        return any(segment.seen is not None for segment in self.segments)

    @property
    def group(self) -> str:
        return self.request.group

    @property
    def verified(self) -> bool:
        """Whether it has a verdict, and no error of ours is in its place."""
        return self.verdict is not None and self.verdict.status != "invalid"

    @property
    def right(self) -> bool:
        """Whether it was verified, and found right."""
        return self.verdict is not None and self.verdict.status == "ok"

    @property
    def training_context(self) -> Ids:
        for choice in (self.context, self.request.train_context):
            if choice is not None:
                return choice
        return self.request.context

    def paths(self, *, sampled: bool = False) -> list[Path]:
        """The contexts that its tokens were written under, each with its tokens: one, unless a world replaced it.

        `sampled`: the context that was read when the first tokens were written, and not the one that is trained.
        """
        first = self.request.context if sampled else self.training_context
        if not any(segment.context is not None for segment in self.segments):
            return [Path(first, 0, len(self))]
        starts, at = [Path(first, 0, 0)], 0
        for segment in self.segments:
            if segment.context is not None:
                starts.append(Path(segment.context, at, at))
            at += len(segment)
        ends = [*(path.start for path in starts[1:]), at]
        paths = [path._replace(stop=end) for path, end in zip(starts, ends, strict=True)]
        return [path for path in paths if path.stop > path.start] or paths[:1]

    @functools.cached_property
    def _length(self) -> int:
        return sum(len(segment.ids) for segment in self.segments)

    def __len__(self) -> int:
        return self._length

    @property
    def written(self) -> int:
        """Tokens of the answer without the replies of an environment: those that somebody chose to write."""
        return sum(int(np.count_nonzero(segment.origin != Origin.ENV)) for segment in self.segments)

    def stream(self, name: str) -> np.ndarray:
        """A stream of the segments over the whole answer; NaN over segments that lack it."""
        return end_to_end(self.segments, name)

    def known(self, name: str) -> np.ndarray | None:
        """A stream over the whole answer; None if no segment has it."""
        return self.stream(name) if any(getattr(s, name) is not None for s in self.segments) else None

    @property
    def after(self) -> Floats | None:
        """What was observed behind its last step; None if no limit cut it off, or if its policy reads tokens."""
        return self.segments[-1].after if self.segments else None


def drawn_in_step(episodes: Sequence[Episode]) -> int:
    """How many prompts the step has drawn so far. Replayed answers came of draws of earlier steps, and count only where
    there are no others.
    """
    own = [episode for episode in episodes if episode.provenance != "replay"] or episodes
    return 1 + max((episode.request.draw for episode in own), default=-1)


@dataclass(frozen=True)
class Wait:
    """A row that waits for a later step: where it is kept, and how it will be marked when it comes back."""

    place: str  # the store, in the memory, of the part that keeps the row until then
    in_loss: bool
    in_denominator: bool


@light
@dataclass(frozen=True, eq=False)
class Row(Carried):
    """An episode on its way to the learner. The three marks are independent, and no row is ever deleted."""

    episode: Episode
    in_loss: bool = True
    in_group: bool = True  # counts in the statistics of its group
    in_denominator: bool = True  # counts in B and N_tok
    weight: float = 1.0
    batch: str = ""  # rows of one key form one batch; keys are trained in sorted order
    wait: Wait | None = None  # set aside for a later step
    waited: str = ""  # the place where the row waited until this step; "": the row is of this step
    tag: str = ""  # distinguishes rows of one role in the objective; "": the request's tag
    keep: TokenFlags | None = None  # tokens that train and count; None: all whose origin trains
    advantage: TokenFloats | None = None  # written by credit; None: zero
    process: TokenFloats | None = None  # rewards of single tokens, turns and steps
    bootstrap: Beyond | None = None  # the critic's value of the state in which a limit cut the episode off
    term_weights: Mapping[str, Floats] = field(default_factory=dict)  # [T] of each further loss term, by its name
    constants: Mapping[Stream, Any] = field(default_factory=dict)  # numbers that one part computes for another

    @classmethod
    def of(cls, episode: Episode) -> Row:
        """The row of an episode, with what its world said of each step and the rewards of turns, spans and tokens as
        `process`. An episode without a reward, because verifying it failed, neither trains nor counts in any mean.
        """
        if episode.reward is None:
            return cls(episode, in_loss=False, in_group=False, in_denominator=False)
        dense = episode.dense
        process = None if dense is None else dense.astype(np.float32)
        return cls(episode, process=process, continues=episode.known("continues"), cost=episode.known("cost"))

    def mark(self, **changes: Any) -> Row:
        return changed(self, **changes)

    @property
    def role(self) -> str:
        return self.episode.request.role

    @property
    def group(self) -> str:
        return self.episode.request.group

    @property
    def reward(self) -> float | None:
        return self.episode.reward

    @property
    def verified(self) -> bool:
        return self.episode.verified

    @property
    def right(self) -> bool:
        return self.episode.right


class Grouped(Protocol):
    """A member of a group: a request, an episode or a row."""

    @property
    def group(self) -> str: ...


Member = TypeVar("Member", bound=Grouped)
Answer = TypeVar("Answer", bound=Episode | Row)


@light
@dataclass(frozen=True, eq=False)
class Group(Generic[Member]):
    """The requests, episodes or rows that are compared with each other, in the order in which they came.

    group.rewards, group.verified, group.right  # of episodes and rows
    """

    name: str
    members: list[Member]
    places: list[int]  # where each member stands among all that were grouped

    @property
    def rewards(self: Group[Answer]) -> list[float | None]:
        return [member.reward for member in self.members]

    @property
    def verified(self: Group[Answer]) -> list[Answer]:
        """The members with a verdict that is no error of ours."""
        return [member for member in self.members if member.verified]

    @property
    def right(self: Group[Answer]) -> list[bool]:
        """Whether each of the verified members is right."""
        return [member.right for member in self.members if member.verified]


def by_group(every: Sequence[Member]) -> dict[str, Group[Member]]:
    """Name -> group, in the order of their first members.

    for group in by_group(episodes).values(): ...
    """
    places: dict[str, list[int]] = {}
    for place, member in enumerate(every):
        places.setdefault(member.group, []).append(place)
    return {name: Group(name, [every[i] for i in own], own) for name, own in places.items()}


Stats = dict[str, float]
"""The metrics of a step, by stable slashed names: `reward/mean`, `policy/entropy`, `group/uniform_fraction`."""


def joined(stats: Stats, more: Stats) -> Stats:
    """The metrics of both. If both have a metric, the result has the sum for amounts spent (`update/...`), else the
    value of `more`.
    """
    spent = {name: stats[name] + more[name] for name in stats.keys() & more.keys() if name.startswith("update/")}
    return {**stats, **more, **spent}
