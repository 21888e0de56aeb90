"""Answers that are asked for ahead: what is trained is what a lagging copy of the policy would have written."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from altered import altered
from talking import TALKING
from tiny import (
    POOL,
    TINY,
    Letters,
    Notes,
    Saved,
    models_for,
    models_of,
    opened,
    policy,
    recipe_of,
    register,
    run,
    saved,
    stages_of,
)

from assay.collect import Ahead, Frozen
from assay.collect.lagged import Lagged
from assay.engine.interface import Done, Generation, Ticket
from assay.engine.paired import Paired
from assay.errors import ConfigError, EndpointError, ProcessLost, Stopped
from assay.loop import train
from assay.memory import Follow, Memory, Promised
from assay.recipe import Recipe
from assay.rng import Key
from assay.scale import behind
from assay.types import Episode, Origin, Request

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def letters(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


SCALE = {"num_steps": 5, "num_prompts": 4, "group_size": 4}


def ahead_of(name: str = "grpo", *, lag: int, order: Any = "strict", **scale: Any) -> Recipe:
    recipe = recipe_of(name, **SCALE | scale)
    return dataclasses.replace(
        recipe, mechanism=dataclasses.replace(recipe.mechanism, collect=(Ahead(lag=lag, order=order),))
    )


def lagged(name: str, lag: int) -> Recipe:
    recipe = recipe_of(name, **SCALE)
    mechanism = dataclasses.replace(recipe.mechanism, collect=(Lagged(),), remember=(Follow(every=1),))
    return dataclasses.replace(recipe, mechanism=mechanism, models={**recipe.models, **behind(lag)})


def same(one: Sequence[Sequence[Episode]], other: Sequence[Sequence[Episode]]) -> None:
    for there, here in zip(one, other, strict=True):
        assert [e.request.id for e in there] == [e.request.id for e in here]
        for first, second in zip(there, here, strict=True):
            for stream in ("ids", "old", "mu"):
                assert first.stream(stream).tobytes() == second.stream(stream).tobytes()
            assert [s.version for s in first.segments] == [s.version for s in second.segments]


@pytest.mark.parametrize("lag", [1, 2, 4, 7])
@pytest.mark.parametrize("name", ["grpo", "dapo"])
def test_what_is_trained_is_what_a_chain_of_followers_would_have_written(name: str, lag: int) -> None:
    """With refills, which dapo asks for, a follower writes the later rounds too: there only the first are compared."""
    one, other = policy("native"), policy("native")
    if name == "dapo":
        bare = {"expand": ()}
        recipes = [
            dataclasses.replace(recipe, mechanism=dataclasses.replace(recipe.mechanism, **bare))
            for recipe in (ahead_of(name, lag=lag), lagged(name, lag))
        ]
    else:
        recipes = [ahead_of(name, lag=lag), lagged(name, lag)]
    (found, _), (wanted, _) = (run(recipe, engine) for recipe, engine in zip(recipes, (one, other), strict=True))
    same(found.episodes, wanted.episodes)
    assert one.version == other.version >= SCALE["num_steps"]
    mine, theirs = one.state(), other.state()
    assert all(torch.equal(value, theirs[key]) for key, value in mine.items() if key != "version")


def test_ages_are_the_lag_once_the_first_weights_are_left_behind() -> None:
    found, _ = run(ahead_of(lag=2), policy("native"))
    assert [stats.get("age/max", 0.0) for stats in found.stats] == [0.0, 1.0, 2.0, 2.0, 2.0]
    assert [stats.get("age/mean", 0.0) for stats in found.stats] == [0.0, 1.0, 2.0, 2.0, 2.0]


def test_nothing_is_asked_for_beyond_the_last_step() -> None:
    engine, asked = policy("native"), list[tuple[str, int]]()
    plain = engine.submit

    def submit(requests: Sequence[Request], key: Key, *, done: Done | None = None) -> Ticket:
        asked.extend((request.group, request.sample) for request in requests)
        return plain(requests, key, done=done)

    engine.submit = submit  # type: ignore[method-assign]
    found, memory = run(ahead_of(lag=3), engine)
    assert len(asked) == len(set(asked)) == 5 * 4 * 4
    assert sorted(asked) == sorted((e.request.group, e.request.sample) for step in found.episodes for e in step)
    assert not memory.kept


def test_rows_of_a_file_are_given_once_in_an_epoch_whatever_the_lag(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [dataclasses.replace(POOL.problem(Key(i)), prompt="ab" * (i + 1)) for i in range(5)]
    register(monkeypatch, altered(TINY, rows=lambda split: rows))
    given = []
    for recipe in (recipe_of("grpo", **SCALE), ahead_of(lag=1), ahead_of(lag=3)):
        found, _ = run(recipe, policy("native"))
        given.append([e.request.problem.prompt for step in found.episodes for e in step if e.request.sample == 0])
    assert given[0] == given[1] == given[2]
    assert all(len(set(given[0][first : first + 5])) == 5 for first in range(0, 20, 5)), "20 draws are four epochs"


class Stopping(Notes):
    """Keeps everything of a run after `after` steps, and stops it there."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self.after = after
        self.kept: Saved | None = None

    def step(self, memory: Memory, models: Any, episodes: Any, rows: Any, batches: Any, stats: Any) -> None:
        super().step(memory, models, episodes, rows, batches, stats)
        if memory.step == self.after:
            self.kept = saved(memory)
            raise Stopped("for this test")


@pytest.mark.parametrize("lag", [1, 3])
@pytest.mark.parametrize("after", [1, 3])
def test_a_run_that_is_stopped_goes_on_with_what_was_in_the_air(lag: int, after: int) -> None:
    recipe, whole = ahead_of(lag=lag), policy("native")
    wanted, _ = run(recipe, whole)
    engine, notes = policy("native"), Stopping(after)
    models = models_for(recipe, engine)
    with pytest.raises(Stopped):
        train(stages_of(recipe), models, Memory(0), notes)
    assert notes.kept is not None
    memory = opened(notes.kept)
    assert {name.rpartition("/")[2] for name in memory.kept} == {str(after + i) for i in range(lag) if after + i < 5}
    later = Notes()
    train(stages_of(recipe), models, memory, later)
    same([*notes.episodes, *later.episodes], wanted.episodes)
    assert dict(engine.tensors()).keys() == dict(whole.tensors()).keys()
    for (name, value), (other, theirs) in zip(engine.tensors(), whole.tensors(), strict=True):
        assert name == other and torch.equal(value, theirs)


def test_what_was_asked_for_a_stage_that_ended_is_dropped() -> None:
    recipe = ahead_of(lag=1)
    memory = Memory(0).hold("ahead/0/3", [])
    (stage,) = stages_of(recipe)
    engine = policy("native")
    models = models_for(recipe, engine)
    requests = stage.ask(models, stage.source(memory), memory)
    episodes, held = stage.collect(models, requests, memory)
    old = dataclasses.replace(held, stage=1, step=2)
    _, after = stage.collect(models, stage.ask(models, stage.source(old), old), old)
    assert set(held.kept) == {"ahead/0/1"} and set(after.kept) == {"ahead/1/3"} and episodes


@pytest.mark.parametrize(
    ("part", "more", "said"),
    [
        (Ahead(), {"collect": (Frozen(), Ahead())}, "and so does frozen: keep one of them"),
    ],
)
def test_lags_that_cannot_be_are_refused(part: Ahead, more: dict[str, Any], said: str) -> None:
    recipe = recipe_of("grpo", **SCALE)
    mechanism = dataclasses.replace(recipe.mechanism, **{"collect": (part,), **more})
    refused = part.refusal(scale=recipe.scale, mechanism=mechanism)
    assert refused is not None and said in refused


def test_recipes_that_imitate_cannot_ask_ahead() -> None:
    recipe = recipe_of("sft", **SCALE)
    refused = Ahead().refusal(scale=recipe.scale, mechanism=recipe.mechanism)
    assert refused is not None and "imitates" in refused


# Pairs of a learner and samplers


class Slow:
    """A ticket that is ready when somebody says so."""

    def __init__(self, made: list[Generation], told: list[str], name: str) -> None:
        self.made, self.told, self.name, self.ready = made, told, name, False

    def wait(self) -> list[Generation]:
        self.ready = True
        self.told.append(f"wait {self.name}")
        return self.made


class Servers:
    """A sampler that takes weights, and writes only when it is waited for."""

    exact, has_threads, merges, prefilled = True, False, True, 0

    def __init__(self, name: str, told: list[str]) -> None:
        self.engine, self.name, self.told, self.version = policy("native"), name, told, -1
        self.context, self.vocab, self.end_ids = self.engine.context, self.engine.vocab, self.engine.end_ids

    def receive(self, weights: Any, version: int) -> None:
        self.told.append(f"publish {version} to {self.name}")
        self.engine.receive(weights, version)
        self.version = version

    def submit(self, requests: Sequence[Request], key: Key, *, done: Done | None = None) -> Slow:
        step = requests[0].group.partition(":")[0]
        self.told.append(f"ask {step}")
        return Slow(self.engine.generate(requests, key), self.told, step)

    def generate(self, requests: Sequence[Request], key: Key, *, done: Done | None = None) -> list[Generation]:
        return self.engine.generate(requests, key, done=done)

    def keeping(self) -> Any:
        return self.engine.keeping()

    def writers(self, requests: Sequence[str]) -> str:
        return ""

    def measured(self) -> dict[str, float]:
        return {"samplers/probe_gap": 0.25, "time/publish": 1.0}


def paired(count: int, *, in_flight: bool = False) -> tuple[Paired, list[str]]:
    told: list[str] = []
    learner = policy("native")
    plain = learner.step

    def step(**how: Any) -> Any:
        told.append(f"learn {learner.version}")
        return plain(**how)

    learner.step = step  # type: ignore[method-assign]
    about = {"context": learner.context, "vocab": learner.vocab, "end_ids": learner.end_ids}
    servers = [Servers(name, told) for name in "abc"[:count]]
    return Paired(learner, lambda: servers, **about, in_flight=in_flight), told


def through(recipe: Recipe, engine: Any) -> Notes:
    notes = Notes()
    train(stages_of(recipe), models_of(engine, policy("native")), Memory(0), notes)
    return notes


def test_servers_write_while_the_learner_learns_and_have_ended_before_they_get_new_weights() -> None:
    wanted, _ = run(ahead_of(lag=1, num_steps=3), policy("native"))
    engine, told = paired(1)
    same(through(ahead_of(lag=1, num_steps=3), engine).episodes, wanted.episodes)
    assert told == [
        *("publish 0 to a", "ask 0", "wait 0", "ask 1", "learn 0"),
        *("wait 1", "publish 1 to a", "ask 2", "learn 1"),
        *("wait 2", "learn 2"),
    ]


def test_two_pools_take_versions_in_turn_so_that_each_has_two_steps() -> None:
    wanted, _ = run(ahead_of(lag=2), policy("native"))
    engine, told = paired(2)
    same(through(ahead_of(lag=2), engine).episodes, wanted.episodes)
    assert told == [
        *("publish 0 to a", "ask 0", "wait 0", "ask 1", "ask 2", "learn 0"),
        *("wait 1", "publish 1 to b", "ask 3", "learn 1"),
        *("wait 2", "publish 2 to a", "ask 4", "learn 2"),
        *("wait 3", "learn 3"),
        *("wait 4", "learn 4"),
    ]


def test_a_pair_is_exact_where_both_sides_are() -> None:
    engine, _ = paired(2)
    assert not engine.exact, "nobody has been asked yet"
    _ = engine.sampler
    assert engine.exact
    engine.learner.exact = False  # type: ignore[misc]
    assert not engine.exact


def test_in_a_window_weights_change_while_answers_are_written() -> None:
    engine, told = paired(1, in_flight=True)
    through(ahead_of(lag=2, order="window", num_steps=4), engine)
    assert told.index("publish 1 to a") < told.index("wait 2")


def test_one_pool_with_a_longer_lag_waits_for_all_before_it_publishes() -> None:
    engine, told = paired(1)
    through(ahead_of(lag=2, num_steps=4), engine)
    assert told.index("wait 2") < told.index("publish 1 to a")


def test_weights_that_are_taken_or_put_back_are_published_and_measures_are_joined() -> None:
    engine, told = paired(2)
    other, _ = paired(1)
    assert engine.measured() == {}
    engine.mark_start()
    for change in (lambda: engine.take(other), engine.return_to_start):
        _ = engine.sampler
        change()
    _ = engine.sampler
    assert told == ["publish 0 to a"] * 3
    assert engine.measured() == {"samplers/probe_gap": 0.25, "time/publish": 2.0}


def test_in_a_world_the_first_turn_is_written_by_weights_before_and_the_others_by_those_of_the_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is asked for ahead is what a play asks before anybody has replied."""
    register(monkeypatch, TALKING)
    notes, _ = run(ahead_of(lag=2, num_minibatches=1), policy("native", decode=Letters().decode))
    turns = 0
    for step, episodes in enumerate(notes.episodes):
        for episode in episodes:
            first, *later = (s.version for s in episode.segments if len(s) and s.origin[0] == Origin.POLICY)
            assert first == max(0, step - 2) and set(later) <= {step}
            turns += len(later)
    assert turns > 20 and len(notes.episodes) == 5


# What a memory holds


def test_what_never_came_is_not_stored_and_is_asked_for_again() -> None:
    def gone() -> list[Episode]:
        raise EndpointError("no sampler is left")

    memory = Memory(0).hold("ahead/0/1", Promised(3, gone))
    assert len(memory.kept["ahead/0/1"]) == 3
    assert not opened(saved(memory)).kept
    with pytest.raises(EndpointError, match="no sampler is left"):
        _ = memory.kept["ahead/0/1"][0]


def test_nothing_is_stored_where_the_run_begins_again_from_what_was_stored_before() -> None:
    def gone() -> list[Episode]:
        raise ProcessLost("no sampler is left")

    with pytest.raises(ProcessLost):
        saved(Memory(0).hold("ahead/0/1", Promised(1, gone)))


def test_a_promise_is_kept_once() -> None:
    calls = []
    promised = Promised(0, lambda: calls.append(1) or [])
    assert (list(promised), promised.episodes, promised[0:1], len(calls)) == ([], (), (), 1)


def test_a_program_error_of_a_sampler_is_not_taken_for_a_lost_server() -> None:
    def broken() -> list[Episode]:
        raise ConfigError("a mistake")

    with pytest.raises(ConfigError):
        saved(Memory(0).hold("ahead/0/1", Promised(1, broken)))
