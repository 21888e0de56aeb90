"""Branches of answers: where trees fork, to whom a token belongs, what trains on it, and CURE's two stages."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import (
    END,
    Letters,
    batch_of,
    episode,
    models_of,
    phases_of,
    policy,
    recipe_of,
    register,
    require_resumable,
    run,
    segment,
    stages_of,
    with_rounds,
)

from assay.collect import Fork, generate
from assay.collect.trees import branch
from assay.curate.own_tokens import own_tokens
from assay.engine.interface import Span
from assay.engine.layout import distinct
from assay.engine.sampling_call import prompt_of
from assay.known import RECIPES
from assay.memory import Memory
from assay.part import bind
from assay.recipe import Recipe, at_profile
from assay.record.measure import step_stats
from assay.reward import SoftOverlong
from assay.types import Episode, Origin, Request, Row

KEEN = {"init_std": 0.1, "vocab": 4}


@pytest.fixture(autouse=True)
def task(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def small(name: str = "cure", **scale: object) -> Recipe:
    sizes = {"num_prompts": 4, "group_size": 8, "num_steps": 3, "learning_rate": 0.01, "warmup_steps": 0}
    return with_rounds(recipe_of(name, max_new=6, **{**sizes, **scale}), 2)


def answer(tokens: Sequence[int], entropy: Sequence[float], *, sample: int = 0, **changes: Any) -> Episode:
    """A trunk with these entropies; the log-prob of each token is minus its entropy."""
    made = episode([1], sample=sample, max_new=12, **changes)
    values = np.array(entropy, np.float32)
    own = segment(tokens, entropy=values, old=-values, node=made.request.id)
    return dataclasses.replace(made, segments=(own,))


def forks(episodes: Sequence[Episode], step: int = 0, **changes: Any) -> list[Request]:
    part = Fork(**{"letters": 1, "places": 1, "branches": 3, "among": 1, **changes})
    return bind(part, codec=Letters())(episodes, memory=Memory(0, step=step))


# Where a tree forks


def test_a_tree_forks_before_its_most_uncertain_token() -> None:
    """Not before its first token, nor before the end."""
    one = answer([1, 2, 3, 2, END], [9.0, 0.5, 2.0, 1.0, 9.0])
    asked = forks([one])
    assert len(asked) == 3 and len({request.id for request in asked}) == 3
    for i, request in enumerate(asked):
        assert [s.ids.tolist() for s in request.prefix] == [[1, 2]] and request.max_new == 12 - 2
        assert (request.parent, request.fork, request.round, request.sample) == (one.request.id, 2, 1, 1 + i)
        assert (request.group, request.context is one.request.context) == (one.request.group, True)
    assert [r.fork for r in forks([one], skip=0, branches=1)] == [0]


def test_the_place_is_drawn_among_the_most_uncertain() -> None:
    """Of eight entropies 7, 6, ..., 0 behind the first token: each of the highest three in about a third of steps."""
    one = answer([1] * 9, [50.0, *range(7, -1, -1)])
    found = Counter(forks([one], step, among=3, branches=1)[0].fork for step in range(300))
    assert set(found) == {1, 2, 3} and all(60 < count < 140 for count in found.values())
    anywhere = {forks([one], step, among=3, branches=1, by="random")[0].fork for step in range(200)}
    assert anywhere == set(range(1, 9))


def test_surprise_is_not_entropy() -> None:
    one = answer([1, 2, 3, 2], [0.0, 1.0, 2.0, 3.0])
    rare = dataclasses.replace(one.segments[0], old=np.array([-1, -5, -1, -1], np.float32))
    one = dataclasses.replace(one, segments=(rare,))
    assert forks([one], branches=1)[0].fork == 3 and forks([one], branches=1, by="surprisal")[0].fork == 1


def test_short_tokens_are_places_only_where_all_are_short() -> None:
    class Words(Letters):
        def decode(self, ids: Sequence[int]) -> str:
            return "".join({1: " so ", 2: ",", 3: " x", 4: "but"}[i] for i in ids)

    def place(tokens: Sequence[int]) -> int:
        part = Fork(places=1, branches=1, among=1, letters=2)
        one = answer(tokens, [float(i) for i in range(len(tokens))])
        return bind(part, codec=Words())([one], memory=Memory(0))[0].fork

    assert place([4, 1, 2, 3]) == 1 and place([4, 2, 3, 2]) == 3


def test_behind_the_answer_there_is_no_place() -> None:
    one = answer([1, 2, 3, 2, 1], [0.0, 1.0, 2.0, 3.0, 4.0])
    assert forks([one], branches=1, until=("c",))[0].fork == 2  # token 3 is a c, and the last place
    assert forks([one], branches=1, until=("a",))[0].fork == 0  # no place is left: at the root


def test_words_of_others_are_no_places() -> None:
    made = answer([1, 2], [0.0, 1.0])
    mixed = (*made.segments, segment([3, 3], origin=Origin.ENV), segment([2, 1], entropy=np.zeros(2, np.float32)))
    (request,) = forks([dataclasses.replace(made, segments=mixed)], branches=1)
    assert request.fork == 1


def test_a_place_is_counted_within_its_node() -> None:
    """A branch that leaves its trunk at 2 and forks before its own third token: token 4 of the answer."""
    one = answer([1, 2, 3, 2], [0.0] * 4)
    asked = branch(one, 2, sample=1)
    own = segment([4, 4, 4, END], node=asked.id, parent=one.request.id)
    child = Episode(asked, (*asked.prefix, own), "stop")
    again = branch(child, 4, sample=2)
    assert (again.parent, again.fork, again.max_new, again.round) == (asked.id, 2, 8, 2)
    assert [s.ids.tolist() for s in again.prefix] == [[1, 2], [4, 4]]
    assert branch(child, 1, sample=2).parent == one.request.id and branch(child, 1, sample=2).fork == 1


# Whose tokens


def tokens_of(episodes: Sequence[Episode]) -> Counter[tuple[str, int]]:
    """How often each (node, place in it) stands in an answer."""
    return Counter((s.node, i) for e in episodes for s in e.segments for i in range(len(s)))


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(0, 3), st.integers(1, 2))
@pytest.mark.slow
def test_every_sampled_token_belongs_to_one_node(seed: int, places: int, branches: int, rounds: int) -> None:
    """What is counted as generated is what the nodes hold; a prefix is what stands in the node it comes from."""
    recipe = small(num_steps=1)
    part = Fork(places=places, branches=branches, rounds=rounds, among=4, letters=1)
    recipe = dataclasses.replace(recipe, stages=recipe.stages[:1])
    recipe = dataclasses.replace(recipe, mechanism=dataclasses.replace(recipe.mechanism, expand=(part,)))
    notes, memory = run(recipe, policy("fp32", **KEEN, seed=seed % 7), seed=seed)
    episodes = notes.episodes[0]
    assert memory.budget.generated_tokens == len(tokens_of(episodes))
    assert len({e.request.id for e in episodes}) == len(episodes)
    written = {e.request.id: e.segments[-1].ids for e in episodes}
    for e in episodes:
        assert [s.node for s in e.segments][-1] == e.request.id and len(e) <= 6
        for s in e.segments:
            assert (s.ids == written[s.node][: len(s)]).all()
    rows = phases_of(recipe).curate(models_of(None), episodes, Memory(0))
    trained = sum(int((np.ones(len(r.episode)) if r.keep is None else r.keep).sum()) for r in rows)
    assert trained == memory.budget.generated_tokens  # a shared prefix weighs once


def test_without_branches_a_tree_is_plain_rollouts() -> None:
    recipe, engine = small(num_steps=1, group_size=16), policy("fp32", **KEEN)
    bare = dataclasses.replace(recipe.mechanism, expand=(Fork(branches=0),))
    notes, _ = run(dataclasses.replace(recipe, mechanism=bare), policy("fp32", **KEEN))
    plain = small("grpo", num_steps=1, group_size=4)
    phases = phases_of(plain)
    requests = phases.ask(models_of(engine), phases.source(Memory(0)), Memory(0))
    expected = generate(models_of(engine), requests, Memory(0).key("sample", 0), Letters())
    assert [e.request.id for e in notes.episodes[0]] == [e.request.id for e in expected]
    for found, other in zip(notes.episodes[0], expected, strict=True):
        assert found.stream("ids").tolist() == other.stream("ids").tolist()
        assert found.stream("old").tolist() == other.stream("old").tolist()


def test_branches_of_one_place_are_one_prompt() -> None:
    """Each distinct prompt is run once: two trunks a group share the question, three branches each place."""
    notes, _ = run(small(num_steps=1), policy("fp32", **KEEN))
    branches = [e for e in notes.episodes[0] if e.request.parent]
    places = {(e.request.group, e.request.parent, e.request.fork) for e in branches}
    which, first = distinct([prompt_of(e.request) for e in branches])
    assert len(branches) == 3 * len(places) and len(first) <= len(places)
    for e, prompt in zip(branches, which, strict=True):
        mine = {int(p) for o, p in zip(branches, which, strict=True) if o.request.parent == e.request.parent}
        assert mine == {int(prompt)}


def test_a_branch_is_as_likely_as_it_says() -> None:
    """`old` of all its tokens, those of the trunk included, is their log-prob after what stands before them."""
    engine = policy("fp32", **KEEN)
    start = engine.copy()
    notes, _ = run(small(num_steps=1), engine)
    for e in notes.episodes[0]:
        (scores,) = start.score([Span(e.request.context, e.stream("ids").astype(np.int32))])
        np.testing.assert_allclose(scores.logp, e.stream("old"), atol=1e-5)


# The method


def test_trunks_and_branches_are_one_group_and_train_on_what_they_sampled() -> None:
    recipe = small(num_steps=1)
    notes, _ = run(recipe, policy("fp32", **KEEN))
    (rows,) = notes.rows
    for group in {row.group for row in rows}:
        members = [row.episode.request for row in rows if row.group == group]
        assert [bool(request.parent) for request in members].count(False) == 2 and len(members) == 8
        assert sorted(request.sample for request in members) == list(range(8))
    batch = batch_of(recipe, [row for row in rows if row.in_loss])
    trained = [e for e in notes.episodes[0] if e.request.id in set(batch.request)]
    assert np.count_nonzero(batch.mask) == len(tokens_of(trained)) > 0
    assert (batch.mask == batch.counted).all() and np.count_nonzero(batch.mask) < len(batch.mask)


def test_pass_rates_are_those_of_trunks() -> None:
    """A branch starts where its trunk was uncertain: that says nothing of how often the policy is right."""
    notes, memory = run(small(num_steps=1), policy("fp32", **KEEN))
    trunks = [e for e in notes.episodes[0] if not e.request.parent]
    right = sum(e.verdict is not None and e.verdict.status == "ok" for e in trunks)
    assert memory.store("pass-rates") == {"tiny/1": [right, len(trunks)]} and len(trunks) < len(notes.episodes[0])


def test_what_branching_saves_is_reported() -> None:
    """Sampled tokens = those of all rows, less those before the forks."""
    notes, memory = run(small(num_steps=1), policy("fp32", **KEEN))
    stats = step_stats(notes.episodes[0], notes.rows[0])
    starts = [sum(map(len, e.request.prefix)) for e in notes.episodes[0] if e.request.parent]
    total = sum(map(len, notes.episodes[0]))
    assert stats["tree/branches"] == len(starts) and stats["tree/fork"] == pytest.approx(np.mean(starts))
    assert memory.budget.generated_tokens == pytest.approx(total * stats["tree/sampled_fraction"])
    assert memory.budget.generated_tokens == total - sum(starts)


def test_entropy_of_whole_answers_leaves_branches_out() -> None:
    """Trunks of entropies 4, 2, 0 and 1, 1, 1; a branch of the first adds 0 alone: 9 / 6 against 9 / 7."""
    first, second = answer([1, 2, 3], [4.0, 2.0, 0.0]), answer([1, 2, 3], [1.0, 1.0, 1.0], sample=1)
    grown = dataclasses.replace(first, request=branch(first, 2, sample=2))
    own = segment([3], entropy=np.zeros(1, np.float32))
    grown = dataclasses.replace(grown, segments=(*grown.request.prefix, own))
    stats = step_stats([first, second, grown], [Row(first), Row(second), Row(grown)])
    assert stats["policy/entropy_whole"] == pytest.approx(9 / 6)
    assert stats["policy/entropy"] == pytest.approx(9 / 7)
    alone = step_stats([first, second], [Row(first), Row(second)])
    assert alone["policy/entropy_whole"] == pytest.approx(alone["policy/entropy"])


@pytest.mark.slow
def test_the_second_stage_is_plain_and_goes_on_with_the_first_ones_state() -> None:
    recipe, engine = small(num_steps=6), policy("fp32", **KEEN)
    assert [phases.end for phases in stages_of(recipe)] == [4, 6]
    notes, memory = run(recipe, engine)
    branching = [any(e.request.parent for e in episodes) for episodes in notes.episodes]
    assert branching == [True] * 4 + [False] * 2 and memory.step == 6
    assert all(row.keep is None for rows in notes.rows[4:] for row in rows)
    assert engine.version == memory.budget.optimiser_steps > 0


def test_constants_of_all_stages_follow_the_answer_length() -> None:
    """512 of 2596 tokens are 20 of 100, and the profile says so once."""
    recipe, rules = at_profile(RECIPES["cure"], "laptop", max_new=100)
    for part in (recipe.mechanism.reward[1], recipe.stages[1].mechanism.reward[1]):  # type: ignore[union-attr]
        assert part == SoftOverlong(buffer=20, factor=1.0)
    assert [rule for rule in rules if "buffer" in rule] == ["SoftOverlong.buffer: 512 -> 20 (in proportion to max_new)"]


@pytest.mark.slow
@pytest.mark.parametrize("after", [2, 4, 5])
def test_a_stopped_run_ends_with_the_same_bits(after: int) -> None:
    """Within the first stage, between the two, within the second."""
    require_resumable(small(num_steps=6), lambda: policy("fp32", **KEEN), after=after)


def test_a_branch_trains_on_its_own_tokens_and_of_these_on_what_was_left_of_them() -> None:
    """Two tokens of four are the trunk's, and the last one was masked before: one token trains."""
    given = episode([1, 2])
    request = dataclasses.replace(given.request, prefix=given.segments, parent="trunk")
    row = Row(dataclasses.replace(episode([1, 2, 3, 0]), request=request), keep=np.array([True, True, True, False]))
    (found,) = own_tokens([row], None)
    assert found.keep is not None and found.keep.tolist() == [False, False, True, False]
