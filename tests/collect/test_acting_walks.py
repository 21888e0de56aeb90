"""Walks in worlds of numbers: what is written down of them, their ends, their faults, and how they are carried on."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Sequence

import numpy as np
import pytest
from acting import CODEC, Scripted, engine_of, models_of, request_of, shows

from assay.collect import Fragments
from assay.collect.acting import actor_of, of_numbers
from assay.collect.fragments import PLACE
from assay.collect.games import in_play
from assay.collect.plays import played
from assay.collect.spoken import earned_by_turn
from assay.errors import ConfigError, DataError
from assay.memory import Memory
from assay.memory.columns import of_columns, to_columns
from assay.models import Models
from assay.part import bind
from assay.record.measure import step_stats
from assay.reward import Outcome
from assay.rng import Key, uniforms
from assay.tasks import task
from assay.tasks.control import chain as chains
from assay.types import Episode, Request, Row, changed
from assay.worlds import Numbers, Play, Reply, World
from assay.worlds.chain import FAR, NEAR


def asked(count: int, **changes: int) -> list[Request]:
    return [request_of(start=1 + i % 3, sample=i, **changes) for i in range(count)]


def test_a_walk_is_what_the_policy_chose_and_the_world_replied_step_by_step() -> None:
    """Each action by the random number of its request and of its place."""
    engine, key = engine_of(), Key(4)
    for request, episode in zip(asked(6), played(models_of(policy=engine), asked(6), key, CODEC), strict=True):
        noise = uniforms([key(request.id)], 40)[0]
        play, state = task("chain:5").world.start(request.problem.spec, Key(0)), request.problem.spec["start"]  # type: ignore[union-attr]
        play.open()
        for t, action in enumerate(episode.stream("ids").tolist()):
            seen = np.eye(5, dtype=np.float32)[[state]]
            np.testing.assert_array_equal(episode.stream("seen")[t], seen[0])
            chosen = engine.act(seen, [request], noise[[t]])
            assert action == chosen.ids[0]
            np.testing.assert_allclose(episode.stream("old")[t], chosen.old[0], rtol=1e-6)
            state += 1 if action else -1
        assert episode.finish == "stop" and state in (0, 4)
        assert episode.stream("earned").tolist() == [0.0] * (len(episode) - 1) + [np.float32(FAR if state else NEAR)]
        assert episode.right == (state == 4) and episode.verdict.scores == {"return": FAR if state else NEAR}  # type: ignore[union-attr]
        assert episode.text == CODEC.decode(episode.stream("ids").tolist())
        (turns,) = earned_by_turn(episode)
        assert turns.scope == "turn" and turns.value == pytest.approx(FAR if state else NEAR)


def test_an_answer_does_not_depend_on_what_is_walked_beside_it() -> None:
    engine = engine_of()
    together = played(models_of(policy=engine), asked(6), Key(1), CODEC)
    for request, episode in zip(asked(6), together, strict=True):
        (alone,) = played(models_of(policy=engine), [request], Key(1), CODEC)
        assert alone.stream("ids").tolist() == episode.stream("ids").tolist()


def test_a_limit_leaves_what_was_seen_behind_it_and_an_end_nothing() -> None:
    """The world's own limit of two steps, and the request's of one."""
    models = models_of(policy=engine_of())
    by_world = played(models, asked(12, most=2), Key(0), CODEC)
    by_request = played(models, asked(12, max_new=1), Key(0), CODEC)
    for episode in (*by_world, *by_request):
        state = episode.request.problem.spec["start"] + int(np.sum(2 * episode.stream("ids") - 1))
        over = state in (0, 4)
        assert episode.finish == ("stop" if over else "length")
        after = None if over else np.eye(5)[state].tolist()
        assert (None if episode.after is None else episode.after.tolist()) == after
    assert {e.finish for e in by_world} == {e.finish for e in by_request} == {"stop", "length"}


def test_what_a_walk_earned_is_its_reward_and_the_outcome_adds_nothing() -> None:
    episodes = played(models_of(policy=engine_of()), asked(6), Key(4), CODEC)
    assert bind(Outcome(), max_new=40)(episodes) == [None] * 6
    paid = rewarded(episodes, models_of(), Memory(0))
    expected = [float(episode.stream("earned").sum()) for episode in paid]
    stats = step_stats(paid, [Row.of(episode) for episode in paid])
    assert stats["reward/mean"] == pytest.approx(np.mean(expected)) == pytest.approx(stats["reward/return/mean"])


def test_only_worlds_of_numbers_are_walked() -> None:
    assert of_numbers(request_of()) and not in_play(request_of())
    words = changed(request_of(), problem=task("lookup-tool").problem(Key(0), level=2))
    assert not of_numbers(words) and in_play(words)
    with pytest.raises(ConfigError, match="--model mlp:64x64"):
        actor_of(object())


# Faults of the world


def faulty(monkeypatch: pytest.MonkeyPatch, *replies: Reply | Exception) -> tuple[Episode, Scripted]:
    """The walk in a world that replies like this."""
    play = Scripted(replies)
    world = World(lambda spec, key: play, numbers=Numbers(5, 2))
    known = dataclasses.replace(chains.chain_task("5"), world=world)
    monkeypatch.setattr(chains, "chain_task", lambda name: known)
    (episode,) = played(models_of(policy=engine_of()), [request_of()], Key(0), CODEC)
    return episode, play


GOOD = shows(0, 0, 1, 0, 0)


@pytest.mark.parametrize(
    ("replies", "said"),
    [
        ((RuntimeError("no board"),), "RuntimeError: no board"),
        ((GOOD, ValueError("lost")), "ValueError: lost"),
        ((Reply(end="ended"),), "shows nothing"),
        ((GOOD, shows(1, 2, 3)), r"shape \(3,\) in place of 5 numbers"),
        ((GOOD, shows(0, 0, float("nan"), 0, 0)), "not finite"),
        ((GOOD, shows(0, 0, 0, 1, 0, rewards={"policy": float("nan")})), "reward of policy is not a number"),
        ((GOOD, Reply(fault="the board fell")), "the board fell"),
    ],
)
def test_a_fault_of_the_world_is_no_zero(
    replies: Sequence[Reply | Exception], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    episode, play = faulty(monkeypatch, *replies)
    assert episode.finish == "error" and episode.verdict is not None and episode.verdict.status == "invalid"
    assert re.search(said, episode.verdict.detail) and episode.reward is None and play.closed


# Fragments


def more(models: Models, memory: Memory, first: int, count: int) -> list[Request]:
    return [request_of(start=1 + i % 3, sample=i, draw=i) for i in range(first, first + count)]


def rewarded(episodes: Sequence[Episode], models: Models, memory: Memory) -> list[Episode]:
    return [changed(episode, rewards=earned_by_turn(episode)) for episode in episodes]


def collector(steps: int = 3):
    return bind(Fragments(steps=steps), more=more, rewarded=rewarded, codec=CODEC)(None)


def of_step(memory: Memory) -> list[Request]:
    return more(None, memory, 100 * memory.step, 4)  # type: ignore[arg-type]


def stepped(memory: Memory, count: int, collect, models: Models) -> tuple[list[list[Episode]], Memory]:
    steps = []
    for _ in range(count):
        episodes, memory = collect(models, of_step(memory), memory)
        steps.append(episodes)
        memory = dataclasses.replace(memory, step=memory.step + 1)
    return steps, memory


def test_a_step_takes_as_many_steps_in_every_play_wherever_it_stands() -> None:
    models = models_of(policy=engine_of())
    steps, _ = stepped(Memory(0), 6, collector(), models)
    for number, episodes in enumerate(steps):
        by_slot: dict[str, int] = {}
        for episode in episodes:
            by_slot[episode.group] = by_slot.get(episode.group, 0) + len(episode)
        assert by_slot == {f"{number}:{place}": 3 for place in range(4)}
    every = [episode.request.id for episodes in steps for episode in episodes]
    assert len(set(every)) == len(every)
    assert {e.finish for episodes in steps for e in episodes} == {"stop", "length"}
    assert all((e.verdict is None) == (e.finish == "length") for episodes in steps for e in episodes)


def test_pieces_of_a_play_follow_each_other() -> None:
    """What a piece saw last is what the next one of its play sees first, and no action is lost."""
    steps, memory = stepped(Memory(0), 6, collector(2), models_of(policy=engine_of()))
    pieces: dict[str, list[Episode]] = {}
    for episode in (episode for episodes in steps for episode in episodes):
        pieces.setdefault(episode.request.problem.id, []).append(episode)
    assert max(map(len, pieces.values())) > 1
    for walk in pieces.values():
        at = 0
        for before, after in zip(walk, walk[1:], strict=False):
            assert before.after is not None
            np.testing.assert_array_equal(before.after, after.stream("seen")[0])
        for piece in walk:
            assert piece.request.fork == at
            at += len(piece)
    held = {episode.request.problem.id: episode for episode in memory.kept[PLACE]}
    for name, episode in held.items():
        done = [action for piece in pieces.get(name, []) for action in piece.stream("ids").tolist()]
        assert episode.stream("ids").tolist() == done


def test_plays_that_are_played_again_go_on_with_the_same_bits() -> None:
    """After each step a new process, which knows the memory as a checkpoint stores it."""
    models = models_of(policy=engine_of())
    calm, _ = stepped(Memory(0), 6, collector(), models)
    memory, found = Memory(0), []
    for _ in range(6):
        steps, memory = stepped(memory, 1, collector(), models)
        found += steps
        memory = dataclasses.replace(memory, kept=of_columns(to_columns(memory.kept)))
    for one, other in zip(calm, found, strict=True):
        assert [e.request.id for e in one] == [e.request.id for e in other]
        for a, b in zip(one, other, strict=True):
            for name in ("ids", "old", "seen", "earned"):
                np.testing.assert_array_equal(a.stream(name), b.stream(name))


def test_a_world_that_does_not_come_back_to_its_state_stops_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    models, memory = models_of(policy=engine_of()), Memory(0)
    while not any(len(episode) > 0 for episode in memory.kept.get(PLACE, ())):
        _, memory = stepped(memory, 1, collector(1), models)
    world = task("chain:5").world
    assert world is not None

    def elsewhere(spec: dict[str, int], key: Key) -> Play:
        return world.start({**spec, "start": 1 + spec["start"] % 3}, key)

    known = dataclasses.replace(chains.chain_task("5"), world=dataclasses.replace(world, start=elsewhere))
    monkeypatch.setattr(chains, "chain_task", lambda name: known)
    with pytest.raises(DataError, match=r"do not lead there again.*`check_world` looks for that"):
        stepped(memory, 1, collector(1), models)


def test_answers_in_words_are_collected_whole() -> None:
    def whole(models: Models, requests: Sequence[Request], memory: Memory) -> tuple[list[Episode], Memory]:
        return [], memory

    collect = bind(Fragments(), more=more, rewarded=rewarded, codec=CODEC)(whole)
    words = changed(request_of(), problem=task("lookup-tool").problem(Key(0), level=2))
    assert collect(models_of(policy=engine_of()), [words], Memory(0)) == ([], Memory(0))


def test_a_play_that_cannot_begin_is_told_and_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first two of a step; where none can begin, the run ends and says why."""
    world, numbers = task("chain:5").world, itertools.count()
    assert world is not None

    def now_and_then(spec: dict[str, int], key: Key) -> Play:
        if next(numbers) < 2:
            raise OSError("no board left")
        return world.start(spec, key)

    known = dataclasses.replace(chains.chain_task("5"), world=dataclasses.replace(world, start=now_and_then))
    monkeypatch.setattr(chains, "chain_task", lambda name: known)
    (episodes,), _ = stepped(Memory(0), 1, collector(), models_of(policy=engine_of()))
    lost = [episode for episode in episodes if episode.finish == "error"]
    assert len(lost) == 2 and all(e.verdict.detail == "OSError: no board left" for e in lost)  # type: ignore[union-attr]
    assert sum(map(len, episodes)) == 3 * 4
    numbers = itertools.repeat(0)
    with pytest.raises(DataError, match="8 plays of 'chain:5' in a row could not begin: OSError: no board left"):
        stepped(Memory(0), 1, collector(), models_of(policy=engine_of()))
