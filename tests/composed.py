"""Mechanisms of any two parts, runs of them with an engine that throws dice, and what must hold after every step."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
import worked
from of_methods import make, said
from tiny import POOL, Letters, Notes, policy, recipe_of, run, stages_of

from assay import known
from assay.ask import Sampling, first_requests
from assay.collect import Refill
from assay.curate import FirstGroups, MixedGroups
from assay.engine.interface import Done, Generation, Scores, Span
from assay.loop import train
from assay.memory import KeepLeftovers, Memory
from assay.memory.columns import to_columns
from assay.memory.leftovers import STORE as LEFT_OVER
from assay.memory.places import OURS, keepers
from assay.models import Models
from assay.part import Curator, Part, Remembering, bind, kind_of, name_of, parts_of
from assay.recipe import Mechanism, Recipe
from assay.reward import Outcome
from assay.rng import Key, uniforms
from assay.tasks import TASKS
from assay.types import Batch, Episode, Request, Row, Segment, Stats

PROMPTS, GROUP, STEPS, MAX_NEW = 3, 4, 3, 4
ROLES = sorted({role for recipe in known.RECIPES.values() for role in recipe.roles})
SLOTS = {
    name: known.SLOTS[name]
    for name in ("source", "ask", "expand", "curate", "forwards", "reward", "credit", "shape", "remember")
}
SMALL: dict[str, dict[str, Any]] = {
    "source:epochs": {"size": 1},
    "source:examine": {"size": 1},
    "source:unsolved": {"size": 1},
    "ask:first-steps": {"width": 2, "depth": 2},
    "curate:train-at": {"temperature": 0.5},  # another one than that of the answers
    "remember:hold-tagged": {"tag": "harvest"},  # what `rehearse` would read, were it not called so by another
    **said("SMALL"),
}
ALONG: dict[str, tuple[str, ...]] = {  # without these in their slots a part has nothing to work on
    "expand:step-search": ("ask:first-steps",),
    "curate:own-tokens": ("expand:fork",),
    "remember:admit-posed": ("source:pose",),
    **said("ALONG"),
}
LAST = {"ask:first-steps": "leaves alone what is answered already", **said("LAST")}
OWN_MODELS = said("OWN_MODELS")
GOES_ON = said("GOES_ON")
Place = tuple[str, str]  # slot, name


class Signs(worked.Signs):
    """What is no sign, such as the words around a hint, is passed over; a verdict is a letter."""

    def encode(self, text: str) -> np.ndarray:
        text = {"+": "a", "-": "b"}.get(text, text)
        return super().encode("".join(sign for sign in text if sign in self.signs))


class Dice:
    """An engine that writes any sign with the same probability and learns nothing; it counts what it wrote."""

    def __init__(self, vocab: int) -> None:
        self.vocab, self.version, self.written, self.end_ids = vocab, 0, 0, frozenset({0})
        self.exact, self.has_threads = True, False
        self.context, self.prefilled = 64, 0

    def generate(self, requests: Sequence[Request], key: Key, *, done: Done | None = None) -> list[Generation]:
        made = [self._answer(request, key) for request in requests]
        self.written += sum(len(one.segment) for one in made)
        if done is not None:
            for place, one in enumerate(made):
                done(place, one)
        return made

    def _answer(self, request: Request, key: Key) -> Generation:
        ids = (uniforms([key(request.id)], request.max_new)[0] * self.vocab).astype(np.int32)
        ends = np.flatnonzero(ids == 0)
        ids = ids[: ends[0] + 1] if len(ends) else ids
        logp, entropy = (np.full(len(ids), sign * np.log(self.vocab), np.float32) for sign in (-1, 1))
        origin = np.zeros(len(ids), np.int8)
        segment = Segment(ids, origin, old=logp, mu=logp, entropy=entropy, version=self.version)
        return Generation(segment, "stop" if len(ends) else "length")

    def score(self, spans: Sequence[Span], *, entropy: bool = False) -> list[Scores]:
        known = [np.full(len(span.ids), -np.log(self.vocab), np.float32) for span in spans]
        return [Scores(logp, -logp if entropy else None) for logp in known]

    def influence(self, spans: Sequence[Span], ends: Sequence[Sequence[int]], *, gap: int) -> list[np.ndarray]:
        return [np.zeros(len(at)) for at in ends]

    def keeping(self) -> Any:
        return nullcontext()

    def take(self, other: Any, rate: float = 1.0) -> None:
        self.version = other.version if rate == 1 else self.version

    def forget(self) -> None: ...


def asked(count: int = 40) -> list[Request]:
    """Requests for problems whose solutions have steps, four for each."""
    problems = [worked.POOL.problem(Key(i)) for i in range(count)]
    return first_requests(problems, Memory(0), first=0, samples=4, sampling=Sampling(4), codec=Signs())


# Mechanisms


def place_of(part: Part) -> str:
    """`slot:name` of a part, as the tables over all parts have it."""
    return f"{kind_of(part).slots[0]}:{name_of(part)}"


def part_of(slot: str, name: str) -> Any:
    return make(f"{slot}:{name}", **SMALL.get(f"{slot}:{name}", {}))


def mechanism_of(*places: Place) -> Mechanism:
    """The parts in their slots, with what they work on and with those that keep what they read.

    A source or an estimator stands alone in its slot: the last one named has it. Everything in `curate` stands in the
    order in which it is named.
    """
    needed = [place for slot, name in places for place in ALONG.get(f"{slot}:{name}", ())]
    named = [*((slot, name) for slot, _, name in (place.partition(":") for place in needed)), *places]
    chosen: dict[str, list[Any]] = {slot: [] for slot in SLOTS}  # of the slot's kind each
    for slot, name in dict.fromkeys(named):
        chosen[slot].append(part_of(slot, name))
    if chosen["expand"]:  # whoever asks in rounds of its own goes before the refill
        chosen["expand"].sort(key=lambda part: isinstance(part, Refill))
    chosen["ask"].sort(key=lambda part: place_of(part) in LAST)
    aside = [part for part in chosen["curate"] if "aside" in part.writes]
    for part in [one for parts in chosen.values() for one in parts if stores(one)]:
        if not any(type(kept) in part.reads and kept.keeps_for(part) for kept in chosen["remember"]):
            chosen["remember"].append(_keeper(part, several=len(aside) > 1))
    return Mechanism(
        source=chosen["source"][-1] if chosen["source"] else Mechanism().source,
        credit=chosen["credit"][-1] if chosen["credit"] else Mechanism().credit,
        reward=(Outcome(), *chosen["reward"]),
        ask=tuple(chosen["ask"]),
        expand=tuple(chosen["expand"]),
        curate=tuple(chosen["curate"]),
        forwards=tuple(chosen["forwards"]),
        shape=tuple(chosen["shape"]),
        remember=tuple(chosen["remember"]),
    )


def stores(part: Part | type[Part]) -> list[type[Remembering]]:
    """The classes of which one keeps the store that the part reads."""
    return [thing for thing in part.reads if isinstance(thing, type)]


def _keeper(reader: Part, *, several: bool) -> Remembering:
    kind = stores(reader)[0]
    if kind is KeepLeftovers:
        return KeepLeftovers(max_age=2, of=reader.called if several else "")
    return part_of("remember", name_of(kind))


def recipe(mechanism: Mechanism, **scale: Any) -> Recipe:
    sizes = {"num_prompts": PROMPTS, "group_size": GROUP, "num_steps": STEPS, **scale}
    plain = recipe_of("grpo", max_new=MAX_NEW, **sizes)
    return dataclasses.replace(plain, mechanism=mechanism, roles=dict.fromkeys(ROLES, "policy"))


def world_of(mechanism: Mechanism) -> dict[str, Any]:
    """Problems whose solutions have steps, or those that can be posed where they are to be."""
    posed = mechanism.source.posed
    return {} if posed else {"pool": worked.POOL, "codec": Signs()}


# Runs


class Watch(Notes):
    """A recorder that looks after every step whether all is as it must be."""

    def __init__(self, made: Recipe, engine: Dice, models: Models, world: Mapping[str, Any]) -> None:
        super().__init__()
        self.recipe, self.engine, self.models, self.world = made, engine, models, world
        self.before = Memory(0)
        self.trained: set[tuple[str, str]] = set()
        self.drawn: set[tuple[str, str]] = set()  # rows of earlier steps that are to train again
        self.written = 0

    def step(self, memory: Memory, models: Models, episodes: Any, rows: Any, batches: Any, stats: Stats) -> None:
        super().step(memory, models, episodes, rows, batches, stats)
        require_budget(self.before, memory, episodes, batches, self.engine.written - self.written)
        require_marks(rows, batches)
        require_training_problems(episodes)
        self._require_once(rows)
        self._require_own_stores(memory, episodes, rows, stats)
        self.before, self.written = memory, self.engine.written

    def _require_once(self, rows: Sequence[Row]) -> None:
        """What was left over trains when it comes back, and what trained does not train again, unless a part that keeps
        for that what trained draws it.
        """
        drawn = [row for row in rows if row.waited and not row.waited.startswith(LEFT_OVER)]
        self.drawn |= {(row.group, row.episode.request.id) for row in drawn}
        now = {(row.group, row.episode.request.id) for row in rows if row.in_loss}
        assert not (now & self.trained) - self.drawn, "a row trained in two steps"
        self.trained |= now

    def _require_own_stores(self, memory: Memory, episodes: Any, rows: Any, stats: Stats) -> None:
        """Every store is what its part alone makes of this step, and no store belongs to nobody."""
        (mine,) = keepers([self.recipe.mechanism.remember])
        places = [keeper.place for keeper in mine if keeper.place]
        assert len(set(places)) == len(places)
        assert {*memory.stores, *memory.kept} <= {*places, *OURS}
        for keeper in mine:
            part = bind(keeper.part, place=keeper.place, **constants(self.recipe, self.world))
            alone = part(self.before, models=self.models, episodes=episodes, rows=rows, stats=stats)
            for name in ("stores", "kept"):
                found, expected = (_bits(getattr(m, name).get(keeper.place, ())) for m in (memory, alone))
                assert found == expected, keeper.place


def _bits(kept: Any) -> Any:
    """A store, or what stands in all fields of the episodes that are held."""
    if not isinstance(kept, tuple):
        return kept
    return {name: column.tobytes() for name, column in to_columns({"": kept}).items()}


def constants(made: Recipe, world: Mapping[str, Any]) -> dict[str, Any]:
    scale = made.scale
    return {
        "pool": world.get("pool", POOL),
        "codec": world.get("codec", Letters()),
        "sampling": Sampling(scale.max_new),
        "num_prompts": scale.num_prompts,
        "group_size": scale.group_size,
        "num_steps": scale.num_steps,
        "max_new": scale.max_new,
    }


def require_budget(before: Memory, after: Memory, episodes: Sequence[Episode], batches: Any, written: int) -> None:
    """What the run says was spent is what the engine wrote, and what was learnt from."""
    fresh = [episode for episode in episodes if episode.provenance == "fresh"]
    spent = {name: value - getattr(before.budget, name) for name, value in dataclasses.asdict(after.budget).items()}
    assert spent["generated_tokens"] == written
    assert spent["rollouts"] == sum(episode.finish != "pause" for episode in fresh)
    assert spent["verified_answers"] == sum(episode.verdict is not None for episode in fresh)
    assert spent["update_tokens"] == sum(int(batch.counted.sum()) for batch in batches)
    assert spent["optimiser_steps"] == len(batches)


def require_marks(rows: Sequence[Row], batches: Sequence[Batch]) -> None:
    """What is not judged teaches nothing; what waits waits; what is in the loss or counted is in one batch, once, and
    counts there as it is marked.
    """
    for row in rows:
        assert row.reward is not None or not (row.in_loss or row.in_group)
        assert row.wait is None or not (row.in_loss or row.in_denominator)
    wanted = Counter((row.group, row.episode.request.id) for row in rows if row.in_loss or row.in_denominator)
    found = Counter(place for batch in batches for place in zip(batch.group, batch.request, strict=True))
    assert found == wanted
    counted = Counter((row.group, row.episode.request.id) for row in rows if row.in_denominator)
    assert counted == Counter(
        (group, request)
        for batch in batches
        for group, request, counts in zip(batch.group, batch.request, batch.counted_rows, strict=True)
        if counts
    )
    taught = Counter(
        (batch.group[row], batch.request[row])
        for batch in batches
        for row in range(len(batch.request))
        if batch.mask[batch.at[row] : batch.at[row + 1]].any()
    )
    assert taught <= Counter((row.group, row.episode.request.id) for row in rows if row.in_loss)


def require_training_problems(episodes: Sequence[Episode]) -> None:
    """No problem of a task belongs to an exam."""
    for problem in (episode.request.problem for episode in episodes):
        if problem.provenance == "task" and problem.task in TASKS:
            assert TASKS[problem.task].split_of(problem.spec) == "train", problem.id


def lacks_solutions(made: Recipe) -> bool:
    """Whether the policy poses the problems, which then have no worked solution, and a part cannot do without."""
    needs = {place_of(part) for part in parts_of(made.mechanism) if part.solutions == "all"}
    return made.mechanism.source.posed and bool(needs - GOES_ON.keys())


def train_with_dice(made: Recipe) -> Watch:
    """A run in which nothing is learnt, looked at after every step."""
    world = world_of(made.mechanism)
    engine = Dice(world["codec"].vocab if world else Letters.vocab)
    models = Models({"policy": engine, "reference": engine}, made.roles, made.models)  # type: ignore[dict-item]
    watch = Watch(made, engine, models, world)

    def improve(models: Models, batch: Batch, memory: Memory) -> Stats:
        engine.version += 1
        return {"update/tokens": float(batch.counted.sum()), "update/steps": 1.0}

    stages = [dataclasses.replace(stage, improve=improve) for stage in stages_of(made, **world)]
    train(stages, models, Memory(0), watch)
    return watch


def groups_of(rows: Sequence[Row], *, batch: str | None = None) -> list[str]:
    """The groups of which a row trains in this step."""
    return list(dict.fromkeys(row.group for row in rows if row.in_loss and batch in (None, row.batch)))


def wanted_groups(*extra: Curator) -> Mechanism:
    """Groups that are mixed, drawn until there are enough, with these parts behind the choice of them."""
    first: tuple[Curator, ...] = () if any("order" in part.writes for part in extra) else (FirstGroups(),)
    aside = [part for part in extra if "aside" in part.writes]
    kept = tuple(_keeper(part, several=len(aside) > 1) for part in aside)
    return Mechanism(expand=(Refill(max_rounds=50),), curate=(MixedGroups(), *first, *extra), remember=kept)


def names() -> Iterator[tuple[Place, type[Part]]]:
    for slot, registry in SLOTS.items():
        for name, kind in registry.items():
            yield (slot, name), kind


ACTIVE = [
    place
    for place, kind in names()
    if place[0] in ("expand", "curate", "remember") or (stores(kind) and not kind().outputs)
]
"""What remembers, marks rows or draws further, without parameter sets of its own."""
OTHERS = [
    place for place, kind in names() if place not in ACTIVE and not kind().outputs and ":".join(place) not in OWN_MODELS
]
"""All else, but what needs parameter sets of its own in the recipe."""


def train_for_real(made: Recipe) -> None:
    world = world_of(made.mechanism)
    codec = world["codec"] if world else Letters()
    engine = policy("fp32", vocab=codec.vocab, context=64, decode=codec.decode)
    notes, memory = run(made, engine, **world)
    for rows, batches in zip(notes.rows, notes.batches, strict=True):
        require_marks(rows, batches)
    fresh = [episode for step in notes.episodes for episode in step if episode.provenance == "fresh"]
    assert memory.budget.rollouts == sum(episode.finish != "pause" for episode in fresh)
    assert memory.step == STEPS
