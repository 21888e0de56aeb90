"""ARPO: forks at replies are the rule's, every token is written once, and without forks it is the method below it."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from learning_draws import shown
from talking import TALKING, asks_back
from tiny import END, Letters, batch_of, episode, policy, recipe_of, register, require_resumable, run, segment

from assay.memory import Memory
from assay.methods.exploration.arpo.forks import ForkAtReplies, entropy_rise, fork_at_replies
from assay.recipe import Recipe
from assay.types import Episode, Origin

ENV = Origin.ENV


@pytest.fixture(autouse=True)
def talking(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, TALKING)


def engine(seed: int = 0):
    return policy("fp32", decode=Letters().decode, seed=seed)


def recipe(*, total: int = 8, threshold: float = 0.5, **scale: object) -> Recipe:
    sizes = {"num_prompts": 6, "group_size": 4, "num_steps": 2, "warmup_steps": 0, "learning_rate": 0.01, **scale}
    made = recipe_of("arpo", max_new=9, **sizes)
    part = ForkAtReplies(total=total, threshold=threshold)
    return dataclasses.replace(made, mechanism=dataclasses.replace(made.mechanism, expand=(part,)))


def waiting(first: list[float], last: list[float], *, group: str = "g", sample: int = 0) -> Episode:
    """Two turns of these entropies, with a reply after each."""
    streams = [np.array(e, np.float32) for e in (first, last)]
    turns = [segment([1, 2], entropy=e, node=f"{sample}.{n}") for n, e in enumerate(streams)]
    reply, draw = segment([3], origin=ENV), int(group[1:] or 0)
    pieces = [turns[0], reply, turns[1], reply]
    return episode(pieces, group=group, sample=sample, draw=draw, finish="pause", verdict=None, max_new=20)


def forks(paused: list[Episode], seed: int = 0, **changes: object):
    part = ForkAtReplies(**{"total": 10**6, **changes})  # type: ignore[arg-type]
    return fork_at_replies([], Memory(seed), paused=paused, codec=Letters(), **dataclasses.asdict(part))


# The rule


def test_what_a_group_gets_has_numbers_of_its_own() -> None:
    """The one answer of a group that another part made may have any number: here 3."""
    part = {"paused": [], "codec": Letters(), **dataclasses.asdict(ForkAtReplies(total=3))}
    done = episode([1, 2], group="g/made", sample=3)
    (asked,) = fork_at_replies([done], Memory(0), **part)
    assert asked.sample == 4 and asked.id != done.request.id
    forked = forks([waiting([1.0], [1.0], sample=3)], threshold=1.0, total=3)
    assert [request.sample for request in forked] == [4]


def test_entropy_has_risen_by_the_difference_of_the_means_of_the_first_tokens() -> None:
    assert entropy_rise(waiting([1.0, 2.0], [2.0, 4.0]), 20) == pytest.approx(3.0 - 1.5)
    assert entropy_rise(waiting([1.0, 2.0], [2.0, 4.0]), 1) == pytest.approx(2.0 - 1.0)
    (first, *_) = waiting([1.0, 2.0], [0.0, 0.0]).segments
    assert entropy_rise(episode([first]), 20) == 0.0 == entropy_rise(episode([]), 20)


@pytest.mark.parametrize(("rise", "threshold", "weight"), [(0.0, 0.5, 0.2), (1.2, 0.5, 0.2), (-1.5, 0.4, 0.3)])
@pytest.mark.slow
def test_an_answer_forks_as_often_as_the_rule_says(rise: float, threshold: float, weight: float) -> None:
    """threshold + weight rise / ln V; five tokens in the vocabulary."""
    paused = [waiting([2.0, 2.0], [2.0 + rise] * 2, group=f"g{i}") for i in range(1500)]
    chance = threshold + weight * rise / math.log(5)
    found = len(forks(paused, threshold=threshold, weight=weight))
    assert abs(found - 1500 * chance) < 4 * math.sqrt(1500 * chance * (1 - chance))


def test_a_fork_goes_on_after_the_reply_with_what_is_left() -> None:
    paused = [waiting([1.0, 1.0], [1.0, 1.0], sample=i) for i in range(3)]
    found = forks(paused, threshold=1.0, beams=3)
    assert [r.sample for r in found] == list(range(3, 9))
    for i, request in enumerate(found):
        assert request.prefix == paused[i // 2].segments and request.fork == 6 and request.max_new == 20 - 6
        assert request.parent == f"{i // 2}.1" and request.group == "g"
    assert len({r.id for r in found}) == 6
    assert len(forks(paused, threshold=1.0, beams=3, total=5)) == 2 and not forks(paused, threshold=1.0, beams=1)


@settings(max_examples=25, deadline=None)
@given(order=st.permutations(range(6)), seed=st.integers(0, 99))
def test_who_forks_does_not_depend_on_the_order(order: list[int], seed: int) -> None:
    paused = [waiting([1.0, 1.0], [1.5, 1.0], group=f"g{i}") for i in range(6)]
    assert {r.group for r in forks(paused, seed)} == {r.group for r in forks([paused[i] for i in order], seed)}


# Trees


@pytest.mark.parametrize("total", [4, 6, 8, 11])
@pytest.mark.slow
def test_every_group_is_full_and_every_token_was_written_once(total: int) -> None:
    notes, memory = run(recipe(total=total), engine())
    written = 0
    for episodes in notes.episodes:
        assert set(Counter(e.request.group for e in episodes).values()) == {total}
        assert len({e.request.id for e in episodes}) == len(episodes)
        nodes: dict[str, list[int]] = {}
        for e in episodes:
            for s in e.segments:
                if s.node:
                    assert nodes.setdefault(s.node, s.ids.tolist()) == s.ids.tolist()
                assert bool(s.node) == (len(s) == 0 or s.origin[0] == Origin.POLICY)
        written += sum(map(len, nodes.values()))
        assert (sum(bool(e.request.fork) for e in episodes) > 0) == (total > 4)
    assert memory.budget.generated_tokens == written


def test_with_one_row_less_to_fill_than_whole_answers_there_is_nothing_to_fork() -> None:
    """A tree without branches is the plain method, bit by bit."""
    plain = recipe(total=4)
    plain = dataclasses.replace(plain, mechanism=dataclasses.replace(plain.mechanism, expand=()))
    (a, memory_a), (b, memory_b) = run(recipe(total=4), engine()), run(plain, engine())
    assert a.stats == b.stats and memory_a == memory_b
    for left, right in zip(a.batches, b.batches, strict=True):
        np.testing.assert_array_equal(left[0].advantage, right[0].advantage)


def test_a_shared_beginning_weighs_as_often_as_it_stands() -> None:
    """The rule here is k: each of the rows that hold a node trains it with its own advantage."""
    one = recipe(total=8, num_steps=1)
    notes, _ = run(one, engine())
    batch = batch_of(one, notes.rows[0])
    holders = Counter(s.node for row in notes.rows[0] for s in row.episode.segments if s.node)
    assert max(holders.values()) > 1
    place = {name: i for i, name in enumerate(batch.request)}
    trained: Counter[str] = Counter()
    for row in notes.rows[0]:
        at = int(batch.at[place[row.episode.request.id]])
        for s in row.episode.segments:
            assert batch.mask[at : at + len(s)].all() == (len(s) == 0 or s.origin[0] == Origin.POLICY)
            trained[s.node] += bool(s.node)
            at += len(s)
    assert {node: count for node, count in trained.items() if node} == dict(holders)


# Runs


@pytest.mark.slow
def test_a_stopped_run_goes_on_bit_for_bit() -> None:
    require_resumable(recipe(num_steps=4), engine, after=2)


@pytest.mark.slow
@pytest.mark.learning
def test_it_learns_with_replies_in_its_answers() -> None:
    made = recipe(num_steps=32, num_prompts=8, learning_rate=0.01, warmup_steps=2)
    notes, _ = run(made, engine(1))
    accuracy = notes.accuracy()
    assert any(e.request.fork for step in notes.episodes for e in step) and END == 0
    shown("rise", accuracy[-6:].mean() - accuracy[:6].mean(), above=0.1)


@pytest.mark.parametrize("fork", ["save", "replay"])
def test_a_fork_goes_on_from_the_state_of_the_first_play(monkeypatch: pytest.MonkeyPatch, fork: str) -> None:
    assert TALKING.world is not None
    register(monkeypatch, dataclasses.replace(TALKING, world=dataclasses.replace(TALKING.world, fork=fork)))
    recipe = recipe_of("arpo", max_new=12, num_prompts=4, group_size=4, num_steps=1, warmup_steps=0)
    notes, _ = run(recipe, policy("fp32", decode=Letters().decode))
    forked = [e for e in notes.episodes[0] if e.request.fork]
    assert forked
    for answer in notes.episodes[0]:
        heard = ""
        for part in answer.segments:
            text = Letters().decode([i for i in part.ids.tolist() if i != END])
            if len(part) and part.origin[0] == Origin.ENV:
                assert text == asks_back(None, heard)
            heard += text
