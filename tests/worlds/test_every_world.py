"""What a policy learns from its plays in every world: each token is sampled, scored and trained behind the same tokens,
the transcript is that of the world, and no reply has a gradient.

Own tokens are those that the sampler wrote, by a record of its calls. So a mark that calls a reply one's own shows.
"""

from __future__ import annotations

import dataclasses
import functools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import torch
from tiny import batch_of, loss_and_gradient, models_of, policy, recipe_of
from trading_world import TRADE

from assay.ask import Sampling, first_requests
from assay.collect import AtEnd, Collector, Worth
from assay.engine.interface import Chunk, Done, Generation, Outputs, Span, Want
from assay.engine.spans import read_again, scored
from assay.lab.templates.world.my_world import MY_WORLD
from assay.memory import Memory
from assay.objective.terms import Entropy
from assay.recipe import Recipe
from assay.rng import Key
from assay.tasks import TASKS, Task, task
from assay.tasks.worked import turns
from assay.types import Batch, Episode, Ids, Origin, Request, Reward, Row, Segment
from assay.worlds import TAGS, Act, Ask, Play, Reply, World

END = 0
MADE = {"trade": TRADE, "my-world": MY_WORLD}
WORDS = [
    name for name in TASKS if (world := task(name).world) is not None and world.numbers is None and world.speech != TAGS
]
"""Those whose words have a token for each character here; `check_world` looks at the tokens of the others."""
WORLDS = (*WORDS, *MADE)
FEW, MANY, LONGEST = 8, 200, 104  # the error of a compiler has some eighty characters
RECIPES = ("grpo", "ppo", *(pytest.param(name, marks=pytest.mark.deep) for name in ("dapo", "gspo")))
EPS = 1e-3


class Characters:
    """A codec of one token for a character that can be printed; token 0 ends an answer."""

    end_ids = frozenset({END})
    stops: tuple[str, ...] = ()
    vocab = 1 + 95

    def render(self, prompt: Any) -> Ids:
        return self.encode(prompt)

    def encode(self, text: str) -> Ids:
        ids = np.frombuffer(text.encode("ascii"), np.uint8).astype(np.int32) - 31
        assert (ids > END).all(), text
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(chr(token + 31) for token in ids if token != END)


CODEC = Characters()
Read = tuple[int, ...]
Place = tuple[str, int, Read]
"""(group, sample, all that was read)"""


@dataclass
class Writer:
    """A policy, of which every second answer calls what a worked solution calls. It notes what it read and wrote."""

    engine: Any
    wrote: dict[Place, list[Read]] = field(default_factory=lambda: defaultdict(list))  # what, whenever it stood there

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)

    def generate(self, requests: Sequence[Request], key: Key, *, done: Done | None = None) -> list[Generation]:
        sampled = [request for request in requests if not _script(request)]
        made = {request.id: each for request, each in zip(sampled, self.engine.generate(sampled, key), strict=True)}
        written = [made.get(request.id) or self._worked(request) for request in requests]
        for place, (request, generation) in enumerate(zip(requests, written, strict=True)):
            self.wrote[request.group, request.sample, _read(request)].append(tuple(generation.segment.ids.tolist()))
            if done is not None:
                done(place, generation)
        return written

    def _worked(self, request: Request) -> Generation:
        text = _script(request)
        whole = CODEC.encode(text) if text.endswith("]") else np.append(CODEC.encode(text), np.int32(END))
        ids = whole[: request.max_new]
        (scores,) = self.engine.score([Span(np.array(_read(request), np.int32), ids, request.temperature)])
        segment = Segment(ids, np.zeros(len(ids), np.int8), scores.logp, scores.logp)
        return Generation(segment, "stop" if len(ids) == len(whole) else "length")


def _read(request: Request) -> Read:
    """All that is read before the first token of an answer to a request."""
    return (*request.context.tolist(), *(token for segment in request.prefix for token in segment.ids.tolist()))


def _script(request: Request) -> str:
    """The next turn of a worked solution; "" where the policy writes by itself."""
    heard = sum(len(segment) > 0 and segment.origin[0] == Origin.ENV for segment in request.prefix)
    if request.sample % 2 or request.problem.task == "trade" or request.seat in ("watcher", "user"):
        return ""
    if request.problem.task == "my-world":
        return f"[{1 + heard % 3}]"
    if request.problem.task == "wish-model":
        return (["[a]", "[A]", "[b]"])[heard] if heard < 3 else "#a"
    worked = [text for text, origin in turns(request.problem, task(request.problem.task)) if origin != Origin.ENV]
    if (known := TASKS[request.problem.task]).checker.externals and known.world:
        worked = [f"[?{known.world.stops[0]}", *worked]  # what follows may end the play without a reply
    return worked[min(heard, len(worked) - 1)]


@dataclass
class Noted:
    """A play that writes down what was written and said in it, in order: (seat, what it was told or wrote)."""

    play: Play
    transcript: list[tuple[str, Ask | Act]]

    def open(self) -> Reply:
        return self._heard(self.play.open())

    def step(self, act: Act) -> Reply:
        self.transcript.append((act.seat, act))
        return self._heard(self.play.step(act))

    def _heard(self, reply: Reply) -> Reply:
        if reply.ask is not None:
            self.transcript.append((reply.ask.seat, reply.ask))
        return reply

    def __getattr__(self, name: str) -> Any:
        return getattr(self.play, name)


@dataclass
class Played:
    """Answers of a world, the policy that wrote them, and the transcripts of its plays by group and sample."""

    writer: Writer
    answers: list[Episode]
    transcripts: Mapping[tuple[str, int], list[tuple[str, Ask | Act]]]

    def transcript(self, answer: Episode) -> list[Ask | Act]:
        """What a seat was told, and what it wrote, in order."""
        group, _, seat = answer.group.partition("/")
        told = self.transcripts[group, answer.request.sample]
        return [words for name, words in told if name == (seat or "policy")]


def noted(given: Task, transcripts: dict[str, Any]) -> Task:
    """The task, whose plays write down their transcripts in this process."""
    world = given.world
    assert world is not None
    start = lambda spec, key: Noted(world.start(spec, key), transcripts[key.hex])  # noqa: E731
    return dataclasses.replace(given, world=dataclasses.replace(world, start=start, apart=False))


def play(world: str, precision: str, count: int, patch: pytest.MonkeyPatch) -> Played:
    transcripts: dict[str, Any] = defaultdict(list)
    known, memory = noted(MADE.get(world) or task(world), transcripts), Memory(0)
    patch.setitem(TASKS, world, known)
    problems = [known.problem(Key(0)("problem", i), level=known.generator.levels[i % 2]) for i in range(count // 4)]
    asked = first_requests(problems, memory, first=0, samples=4, sampling=Sampling(LONGEST), codec=CODEC)
    writer = Writer(policy(precision, vocab=CODEC.vocab, context=192, decode=CODEC.decode, init_std=0.3))
    collector = Collector(AtEnd(lambda episodes: []), lambda role: Worth(False, ()), (), lambda *_: [], CODEC)
    roles = {seat.role: "policy" for seat in known.world.seats} if known.world else {}
    answers, _ = collector(models_of(writer, roles=roles), asked, memory)
    key = memory.key("sample", 0)
    by_play = {(request.group, request.sample): transcripts[key("play", request.id).hex] for request in asked}
    return Played(writer, answers, by_play)


@functools.cache
def everything(world: str, precision: str, count: int) -> Played:
    with pytest.MonkeyPatch.context() as patch:
        return play(world, precision, count, patch)


@pytest.fixture(params=[FEW, pytest.param(MANY, marks=pytest.mark.deep)])
def count(request: pytest.FixtureRequest) -> int:
    return request.param


def marks(name: str) -> list[pytest.MarkDecorator]:
    """A world of foreign programs needs them, and the time of a deep test if it waits for them at each turn."""
    if name in MADE:
        return []
    known = task(name)
    assert known.world is not None
    externals = [pytest.mark.external(one) for one in {*known.checker.externals, *known.world.externals}]
    return [*externals, pytest.mark.deep] if known.checker.externals and known.world.apart else externals


each_world = pytest.mark.parametrize("world", [pytest.param(name, marks=marks(name)) for name in WORLDS])


def said(answer: Episode) -> list[tuple[str, bool]]:
    """The pieces of an answer, (words, whether a reply), without those that say nothing."""
    pieces = [(CODEC.decode(s.ids.tolist()), bool((s.origin == Origin.ENV).any())) for s in answer.segments]
    return [(text, reply) for text, reply in pieces if text]


def told_in(seen: Played, answer: Episode) -> tuple[list[str], list[tuple[str, bool]]]:
    """The same by the transcript: what replaced all that was read before, the prompt first; and the pieces."""
    read: list[str] = [] if "/" in answer.group else [str(answer.request.problem.prompt)]
    pieces: list[tuple[str, bool]] = []
    for words in seen.transcript(answer):
        text = words.text if isinstance(words, Act) else "".join(line.text for line in words.say)
        if isinstance(words, Ask) and (words.context == "replace" or not read):
            read.append(text)
        elif text:
            pieces.append((text, isinstance(words, Ask)))
    return read, pieces


@each_world
def test_the_tokens_say_what_the_transcript_says(world: str, count: int) -> None:
    seen, replies = everything(world, "native", count), 0
    for answer in seen.answers:
        read, told = told_in(seen, answer)
        contexts = [answer.request.context, *(s.context for s in answer.segments if s.context is not None)]
        assert [CODEC.decode(context.tolist()) for context in contexts] == read[: len(contexts)]
        assert len(contexts) == len(read) or answer.finish == "length"
        pieces = said(answer)
        if answer.finish != "length":
            assert pieces == told
        else:  # a reply that left no token for another turn is not read, and a turn that was cut is no act
            assert pieces in (told, told[:-1], [*told, *pieces[-1:]])
        assert "".join(text for text, _ in pieces) == answer.text == CODEC.decode(answer.stream("ids").tolist())
        replies += sum(reply for _, reply in pieces)
    assert len(seen.answers) >= count and replies >= count / 2


@each_world
@pytest.mark.parametrize("precision", ["native", "fp64"])
def test_the_learner_finds_each_token_as_likely_as_the_sampler(world: str, count: int, precision: str) -> None:
    """In the compiled core to the last bit; in fp64 to the rounding of a float of 32 bits, in which it is stored."""
    seen = everything(world, precision, count)
    engine = seen.writer.engine
    forward = read_again(engine, seen.answers, Want(), "logp", sampled=False, tokens=1000)
    for answer, score, (again,) in zip(seen.answers, scored(engine, seen.answers, sampled=True), forward, strict=True):
        own = answer.stream("origin") == Origin.POLICY
        assert own.any() and np.isfinite(answer.stream("mu")[own]).all() and np.isnan(answer.stream("mu")[~own]).all()
        np.testing.assert_array_equal(answer.stream("old")[own], answer.stream("mu")[own])
        if precision == "native":
            np.testing.assert_array_equal(score.logp[own], answer.stream("mu")[own])
        np.testing.assert_allclose(score.logp[own], answer.stream("mu")[own], rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(again[own], answer.stream("mu")[own], rtol=1e-5, atol=1e-5)


def known_world(name: str) -> World:
    world = (MADE.get(name) or task(name)).world
    assert world is not None
    return world


@each_world
def test_what_is_trained_stands_behind_what_was_read_when_it_was_written(world: str, count: int) -> None:
    seen = everything(world, "native", count)
    batch = batch_of(recipe_of("grpo", max_new=LONGEST), rows(seen))
    still = [f"/{seat.name}" for seat in known_world(world).seats if not seat.trains]
    written = {place: each for place, each in seen.writer.wrote.items() if not place[0].endswith(tuple(still))}
    wrote = sum(len(ids) for each in written.values() for ids in each)
    own = own_tokens(seen, batch)
    np.testing.assert_array_equal(batch.mask, own)
    assert own.sum() == wrote and not own.all(), "every token that was sampled is in one row, and in one place"
    if world == "trade":
        assert len(batch) > len(seen.answers) > count


def rows(seen: Played) -> list[Row]:
    """The answers with rewards by chance, so that each has an advantage, and with a reference that is elsewhere."""
    random = np.random.default_rng(0)

    def row(answer: Episode) -> Row:
        rewards = (*answer.rewards, Reward("outcome", float(random.normal())))
        ref = np.where(answer.stream("origin") == Origin.POLICY, -random.uniform(1, 4, len(answer)), np.nan)
        return Row(dataclasses.replace(answer, rewards=rewards), ref=ref.astype(np.float32))

    return [row(answer) for answer in seen.answers]


def own_tokens(seen: Played, batch: Batch) -> np.ndarray:
    """Which tokens of a batch the sampler wrote behind what stands before them there, by the record of its calls."""
    of = {answer.request.id: (answer.group, answer.request.sample) for answer in seen.answers}
    own = np.zeros(len(batch.ids), bool)
    for row, name in enumerate(batch.request):
        context = batch.context[batch.context_at[row] : batch.context_at[row + 1]].tolist()
        ids = batch.ids[batch.at[row] : batch.at[row + 1]].tolist()
        place = 0
        while place < len(ids):
            known = seen.writer.wrote.get((*of[name], (*context, *ids[:place])), [])
            count = max((len(wrote) for wrote in known if (*ids[place : place + len(wrote)],) == wrote), default=0)
            own[batch.at[row] + place : batch.at[row] + place + count] = True
            place += max(1, count)
    return own


# The gradient on replies


@dataclass
class Shifted:
    """An engine that computes at each token of a batch something else than its model does, by so much."""

    engine: Any
    shift: np.ndarray  # for each token of the batch

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)

    def chunks(self, batch: Batch, *, tokens: int) -> Iterator[Chunk]:
        (chunk,) = self.engine.chunks(batch, tokens=10**9)
        at = [slice(batch.at[row], batch.at[row + 1]) for row in chunk.rows]
        self.here = torch.from_numpy(np.concatenate([self.shift[piece] for piece in at]))
        yield chunk

    def forward(self, chunk: Chunk, want: Want) -> Outputs:
        outputs, changes = self.engine.forward(chunk, want), {}
        for name in ("logp", "entropy", "top_logp", "mean_logp", "likeliest_logp", "value"):
            if (tensor := getattr(outputs, name)) is not None:
                moved = tensor.detach() + (self.here[:, None] if tensor.ndim == 2 else self.here)
                changes[name] = moved.requires_grad_()
        return dataclasses.replace(outputs, **changes)

    def backward(self, chunk: Chunk, outputs: Outputs) -> None:
        """Only the loss is looked at."""


def with_entropy(name: str) -> Recipe:
    """The recipe with a bonus for entropy, which a part that sees all tokens alike would give replies too."""
    recipe = recipe_of(name, max_new=LONGEST)
    goal = recipe.mechanism.objective
    goal = dataclasses.replace(goal, regularise=(*goal.regularise, Entropy(weight=0.1)))
    return dataclasses.replace(recipe, mechanism=dataclasses.replace(recipe.mechanism, objective=goal))


@each_world
@pytest.mark.parametrize("recipe", RECIPES)
def test_what_is_computed_at_a_reply_does_not_move_the_loss_and_at_an_own_token_it_does(
    world: str, count: int, recipe: str
) -> None:
    """Central differences, at all replies at once and at each of some own tokens."""
    seen, plan = everything(world, "fp64", count), with_entropy(recipe)
    batch, random = batch_of(plan, rows(seen)), np.random.default_rng(1)
    own = own_tokens(seen, batch)

    def loss(shift: np.ndarray) -> float:
        moved = Shifted(seen.writer.engine, shift)
        return loss_and_gradient(moved, batch, plan, gradient=lambda _: torch.zeros(0))[0]

    replies = np.where(own, 0.0, random.uniform(0.5, 2.0, len(own)))
    assert np.count_nonzero(replies) > count / 4
    assert loss(EPS * replies) == loss(-EPS * replies) == loss(1000 * replies) == loss(0 * replies)
    for place in random.choice(np.flatnonzero(own), 6, replace=False):
        alone = np.where(np.arange(len(own)) == place, EPS, 0.0)
        assert abs(loss(alone) - loss(-alone)) / (2 * EPS) > 1e-7
