"""Pairs and labels from verdicts: what is preferred to what, the losses, and rounds of a frozen policy's answers."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from off_policy import SHAPES, Answer, World, world
from tiny import ALONE, Letters, episode, group_of, models_for, models_of, phases_of, policy, recipe_of, register, run
from torch import Tensor
from torch.nn.functional import logsigmoid

from assay.collect import Frozen
from assay.credit import pack
from assay.engine.interface import Span
from assay.errors import ConfigError
from assay.known import RECIPES
from assay.memory import Memory
from assay.methods.preferences.losses import DPO, IPO, KTO
from assay.methods.preferences.pairs import mismatch, pairs, train_at
from assay.objective import Objective
from assay.types import Row

OFFLINE = ("dpo", "ipo", "kto")
LEVELS = (0, 1, 4, 5)  # seeds of worlds with a level of KTO below and above zero


def signs(row: Row) -> list[float]:
    """Of its pairs: 1 the winner, -1 the loser."""
    names = sorted(name for name in row.weights if name.startswith("pair/"))
    assert all(len(set(row.weights[name].tolist())) <= 1 for name in names)
    return [float(row.weights[name][0]) if len(row.weights[name]) else 0.0 for name in names]


# Which pairs


@settings(max_examples=50, deadline=None)
@given(st.lists(st.booleans(), max_size=9), st.integers(1, 8), st.integers(0, 99))
@example([True, True, False, False], 4, 0)
def test_pairs_are_different_and_of_right_and_wrong(right: list[bool], most: int, seed: int) -> None:
    rows = pairs(group_of([float(r) for r in right]), memory=Memory(seed), most=most)
    wins, losses = sum(right), len(right) - sum(right)
    made = []
    for k in range(most):
        column = [signs(row)[k] for row in rows]
        if any(column):
            (winner,), (loser,) = ([i for i, s in enumerate(column) if s == kind] for kind in (1.0, -1.0))
            assert right[winner] and not right[loser]
            made.append((winner, loser))
    assert len(set(made)) == len(made) == min(most, int(np.lcm(wins, losses)))
    assert [row.in_loss for row in rows] == [any(i in pair for pair in made) for i in range(len(rows))]
    assert [row.in_denominator for row in rows] == [row.in_loss for row in rows]
    assert all(row.in_group for row in rows)


def test_a_truncated_answer_loses_no_pair() -> None:
    rows = group_of([1.0, 0.0, 0.0])
    cut = dataclasses.replace(rows[1].episode, finish="length")
    found = pairs([rows[0], rows[1].mark(episode=cut), rows[2]], memory=Memory(0), most=5)
    assert [signs(row) for row in found] == [[1.0, 0, 0, 0, 0], [0.0] * 5, [-1.0, 0, 0, 0, 0]]


def test_an_answer_out_of_the_loss_is_in_no_pair() -> None:
    rows = group_of([1.0, 0.0, None])
    rows[0] = rows[0].mark(in_loss=False)
    assert not any(any(signs(row)) for row in pairs(rows, memory=Memory(0), most=2))


# The losses


MORE = {**SHAPES, "two": [("pp", False), ("pepp", True), ("p", True)]}


def paired(seed: int, most: int, shapes: Any = MORE) -> tuple[World, list[tuple[int, int]]]:
    """A world with its pairs marked, and these as (winner, loser)."""
    made = world(seed, shapes=shapes)
    made.rows = pairs(made.rows, memory=Memory(seed), most=most)
    made.rows = [row.mark(in_loss=True, in_denominator=True) for row in made.rows]
    found = []
    for k in range(most):
        for group in dict.fromkeys(row.group for row in made.rows):
            mine = {signs(row)[k]: i for i, row in enumerate(made.rows) if row.group == group}
            if 1.0 in mine:
                found.append((mine[1.0], mine[-1.0]))
    return made, found


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("most", [1, 4])
@pytest.mark.parametrize("likelihood", [0.0, 0.6])
def test_dpo(seed: int, most: int, likelihood: float) -> None:
    made, found = paired(seed, most)
    assert len(found) >= (2 if most == 1 else 4)

    def formula(answers: Sequence[Answer]) -> Tensor:
        total = torch.zeros((), dtype=torch.float64)
        for winner, loser in ((answers[w], answers[l]) for w, l in found):
            margin = (winner.logp - winner.ref).sum() - (loser.logp - loser.ref).sum()
            total = total - logsigmoid(0.3 * margin) - likelihood * winner.logp.mean()
        return total / len(found)

    made.require(Objective(whole=DPO(beta=0.3, likelihood=likelihood)), formula)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_ipo(seed: int) -> None:
    made, found = paired(seed, 3)

    def formula(answers: Sequence[Answer]) -> Tensor:
        margins = [
            (answers[w].logp - answers[w].ref).mean() - (answers[l].logp - answers[l].ref).mean() for w, l in found
        ]
        return torch.stack([(margin - 1 / (2 * 0.4)) ** 2 for margin in margins]).mean()

    made.require(Objective(whole=IPO(tau=0.4)), formula)


def test_dpo_by_hand() -> None:
    """At the reference each token of the winner is pushed by beta / 2, of the loser by - beta / 2."""
    made, _ = paired(0, 1, {"g": [("pp", True), ("p", False)]})
    for row, answer in zip(made.rows, made.answers, strict=True):
        row.ref[:] = answer.logp.detach().numpy()  # type: ignore[index]
    winner, loser = made.learnt(Objective(whole=DPO(beta=0.1)))
    np.testing.assert_allclose(winner, [-0.05] * 2, rtol=1e-5)
    np.testing.assert_allclose(loser, [0.05], rtol=1e-5)


@pytest.mark.parametrize("gone", [0, 1])
def test_half_a_pair_is_none(gone: int) -> None:
    """A cut of the batch that goes through a group leaves its pairs out."""
    made, _ = paired(0, 1, {"g": [("p", True), ("p", False)], "h": [("p", True), ("p", False)]})
    del made.rows[gone], made.answers[gone]
    found = made.learnt(Objective(whole=DPO(beta=0.1)))
    assert found[0].tolist() == [0.0] and (np.concatenate(found[1:]) != 0).all()


def test_no_pairs_no_step_and_no_marks_no_run() -> None:
    made, found = paired(0, 2, {"g": [("p", True), ("p", True)]})
    assert not found and not np.concatenate(made.learnt(Objective(whole=DPO()))).any()
    with pytest.raises(ConfigError, match="pairs"):
        world(0).learnt(Objective(whole=IPO()))


@pytest.mark.parametrize("seed", LEVELS)
def test_kto(seed: int) -> None:
    """Rows of the tag `mismatched` set the level, and have no coefficient."""
    made = world(seed, shapes={**SHAPES, "others": [("pp", True), ("pep", False), ("p", True)]})
    apart = [row.group == "others" for row in made.rows]
    made.rows = [
        row.mark(tag="mismatched", in_denominator=False) if other else row
        for row, other in zip(made.rows, apart, strict=True)
    ]
    moved = [float((a.logp - a.ref).sum().detach()) for a, other in zip(made.answers, apart, strict=True) if other]
    level = max(0.0, sum(moved) / 3)
    right, wrong = (sum(a.right == k and a.length > 0 for a in made.answers[:-3]) for k in (True, False))

    def formula(answers: Sequence[Answer]) -> Tensor:
        total = torch.zeros((), dtype=torch.float64)
        for a, other in zip(answers, apart, strict=True):
            if not other and a.length:
                score = (a.logp - a.ref).sum()
                near = torch.sigmoid(0.2 * (score - level)) if a.right else torch.sigmoid(0.2 * (level - score))
                total = total + (0.7 * wrong / right if a.right else 1.0) * (1 - near)
        return total / (len(answers) - 3)

    made.require(Objective(whole=KTO(beta=0.2, balance=0.7)), formula)


@pytest.mark.parametrize("right", [True, False])
def test_without_mismatched_rows_the_level_is_zero_and_of_one_kind_each_weighs_one(right: bool) -> None:
    """At the reference each token is pushed by beta / 4, up or down, over two answers."""
    made = world(0, shapes={"g": [("pp", right), ("p", right)]})
    for row, answer in zip(made.rows, made.answers, strict=True):
        row.ref[:] = answer.logp.detach().numpy()  # type: ignore[index]
    found = np.concatenate(made.learnt(Objective(whole=KTO(beta=0.2, balance=0.7))))
    np.testing.assert_allclose(found, [(-1) ** right * 0.2 / 4 / 2] * 3, rtol=1e-5)


def test_some_levels_are_above_zero_and_some_are_not() -> None:
    levels = []
    for seed in LEVELS:
        made = world(seed, shapes={**SHAPES, "others": [("pp", True), ("pep", False), ("p", True)]})
        levels.append(sum(float((a.logp - a.ref).sum().detach()) for a in made.answers[-3:]))
    assert min(levels) < 0 < max(levels)


# Rows under other questions, other temperatures


def test_every_answer_is_put_under_another_question() -> None:
    rows = [
        Row(episode([1, 0], group=name, sample=i, prompt=prompt, reward=float(i)))
        for name, prompt in (("g", "a"), ("h", "b"), ("k", "a"))
        for i in range(2)
    ]
    rows[1] = rows[1].mark(in_loss=False)
    found = mismatch(rows)
    assert found[:6] == rows and len(found) == 6 + 5
    letters = Letters()
    asked = {"g": "b", "h": "a", "k": "b"}
    for row in found[6:]:
        assert row.tag == "mismatched" and row.in_loss and not row.in_group and not row.in_denominator
        np.testing.assert_array_equal(row.episode.training_context, letters.encode(asked[row.group]))
        np.testing.assert_array_equal(row.episode.request.context, letters.encode("a" if row.group != "h" else "b"))
    same = rows[:2] + rows[4:]
    assert mismatch(same) == same


def test_a_mismatched_answer_is_scored_under_the_other_question() -> None:
    """Its reference log-probs are those that `forwards` finds for the pair, and it trains nothing."""
    recipe, engine = recipe_of("kto", num_prompts=2, group_size=2), policy("fp32")

    models, phases = models_for(recipe, engine, policy("fp32", seed=1)), phases_of(recipe)
    episodes = [episode([1, 0], group=p, sample=i, prompt=p, reward=float(i)) for p in "ab" for i in range(2)]
    rows, _ = phases.forwards(models, phases.curate(models, episodes, Memory(0)), Memory(0))
    other = rows[4]
    span = Span(Letters().encode("b"), np.array([1, 0], np.int32))
    (expected,) = models["reference"].score([span])
    np.testing.assert_allclose(other.ref, expected.logp, rtol=1e-5)  # type: ignore[arg-type]
    (batch,) = phases.credit(rows, Memory(0))
    assert batch.tag is not None and batch.tag.count("mismatched") == 4 and batch.counted_rows.sum() == 4


def test_rows_are_trained_at_their_temperature() -> None:
    hot, plain = Row(episode([1, 0], temperature=0.8)), Row(episode([2]))
    found = train_at([hot, plain], temperature=1.0)
    assert found[1] is plain
    assert found[0].episode.request.temperature == 1.0 and found[0].episode.request.id == hot.episode.request.id
    batch = pack(found)
    assert batch.temperature.tolist() == [1.0, 1.0]
    assert batch.sampled is not None and np.isnan(batch.sampled[:2]).all() and batch.sampled[2] == -1.0
    assert hot.episode.stream("old").tolist() == [-1.0, -1.0]


# Rounds


@pytest.fixture
def letters(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, ALONE)


def beginner() -> Any:
    return policy("fp32", vocab=4, hidden=16, ffn=16, init_std=0.1)


def accuracy(engine: Any) -> float:
    """Of 256 answers."""
    recipe = recipe_of("rloo", max_new=4, num_prompts=64, group_size=4, num_steps=1)
    phases, models = phases_of(recipe), models_of(engine)
    requests = phases.ask(models, phases.source(Memory(9)), Memory(9))
    episodes, _ = phases.collect(models, requests, Memory(9))
    return float(np.mean([e.right for e in episodes]))


@pytest.mark.slow
def test_a_frozen_set_answers(letters: None) -> None:
    """Whatever the policy learns, all answers are of the weights with which the run began."""
    recipe = recipe_of("dpo", max_new=4, num_prompts=8, group_size=8, num_steps=3, learning_rate=0.05)
    engine = beginner()
    start = engine.copy()
    notes, _ = run(recipe, engine)
    for episodes in notes.episodes:
        for one in episodes:
            (score,) = start.score([Span(one.request.context, one.stream("ids").astype(np.int32))])
            np.testing.assert_allclose(one.stream("old"), score.logp, atol=1e-5)
    assert sum(stats.get("update/steps", 0) for stats in notes.stats) > 0


def test_a_set_that_learns_is_no_frozen_one(letters: None) -> None:
    recipe = recipe_of("dpo", max_new=3, num_prompts=2, group_size=2, num_steps=1)
    mechanism = dataclasses.replace(recipe.mechanism, collect=(Frozen(model="policy"),))
    with pytest.raises(ConfigError, match="trained=False"):
        run(dataclasses.replace(recipe, mechanism=mechanism), beginner())


@pytest.mark.slow
def test_a_round_begins_with_the_policy_of_the_round_before(letters: None) -> None:
    recipe = recipe_of("iter-dpo", max_new=3, num_prompts=8, group_size=6, num_steps=8, learning_rate=0.01)
    notes, _ = run(recipe, beginner())
    versions = [{s.version for e in episodes for s in e.segments} for episodes in notes.episodes]
    assert all(len(found) == 1 for found in versions)
    first = [found.pop() for found in versions]
    assert first[0::2] == first[1::2] and first[0] == 0 and sorted(set(first)) == first[0::2]
    assert all(e.request.temperature == 0.8 for episodes in notes.episodes for e in episodes)
    assert all(set(b.temperature.tolist()) <= {1.0} for step in notes.batches for b in step)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*OFFLINE, "iter-dpo"])
def test_the_policy_learns_from_what_a_frozen_one_wrote(letters: None, name: str) -> None:
    sizes = {"num_prompts": 8, "group_size": 8, "num_steps": 24, "num_minibatches": 1, "warmup_steps": 2}
    engine = beginner()
    before = accuracy(engine)
    run(recipe_of(name, max_new=4, learning_rate=0.01, **sizes), engine)
    assert accuracy(engine) > before + 0.2


def test_what_the_recipes_are() -> None:
    assert RECIPES["iter-dpo"].mechanism.objective.whole == DPO(beta=0.1, likelihood=1.0)
    assert len(RECIPES["iter-dpo"].stages) == 4 and RECIPES["iter-dpo"].models["reference"].start == "policy"
    for name in OFFLINE:
        assert len(RECIPES[name].stages) == 1 and not RECIPES[name].models["reference"].trained
