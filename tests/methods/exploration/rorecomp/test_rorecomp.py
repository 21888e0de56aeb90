"""RoRecomp: which rows train first, which wait, and that advantages and log-probs are those of their own group."""

from __future__ import annotations

import dataclasses
import math
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_runs import Shell, came_to, make_model, train_line
from tiny import (
    episode,
    models_of,
    phases_of,
    policy,
    recipe_of,
    register,
    reopened,
    require_resumable,
    run,
    saved,
    segment,
)

from assay.credit.advantage import group_relative
from assay.memory import Memory
from assay.memory.columns import FILE, of_columns
from assay.memory.leftovers import STORE, keep_leftovers, leftovers
from assay.methods.exploration.rorecomp.recompose import Recompose, length, priority, recompose
from assay.recipe import Recipe
from assay.record.folder import RunFolder
from assay.record.measure import step_stats
from assay.types import Origin, Row


@pytest.fixture(autouse=True)
def task(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def engine():
    return policy("fp32", vocab=4)


def recipe(share: float = 0.5, **scale: object) -> Recipe:
    sizes = {"num_prompts": 6, "group_size": 6, "num_steps": 5, "warmup_steps": 0, "learning_rate": 0.01, **scale}
    made = recipe_of("rorecomp", max_new=4, **sizes)
    return dataclasses.replace(
        made, mechanism=dataclasses.replace(made.mechanism, curate=(Recompose(share, often=1.0, seldom=1.0),))
    )


def group(rewards: list[float], lengths: list[int], name: str = "g") -> list[Row]:
    return [
        Row(episode([1] * n, group=name, sample=i, reward=r))
        for i, (r, n) in enumerate(zip(rewards, lengths, strict=True))
    ]


# Who trains first


def test_short_right_and_long_wrong_rows_are_first() -> None:
    """Three right: two shortest; four wrong: two longest."""
    rows = group([1, 0, 1, 0, 0, 1, 0], [5, 2, 3, 7, 4, 9, 6])
    assert priority(rows, 0.5) == {2, 0, 3, 6}
    assert priority(rows, 0.25) == {2, 3} and priority(rows, 1.0) == set(range(7))
    assert priority([rows[0].mark(in_loss=False), *rows[1:]], 0.5) == {2, 3, 6}


def test_tools_count_before_tokens() -> None:
    long = episode([segment([1] * 9)])
    called = episode([segment([1]), segment([2], origin=Origin.ENV), segment([1])])
    assert length(long) == (0, 9) < length(called) == (1, 2), "what the tool replied is no length"


@settings(max_examples=80, deadline=None)
@given(
    answers=st.lists(st.tuples(st.sampled_from([0.0, 1.0]), st.integers(0, 9)), min_size=1, max_size=12),
    share=st.sampled_from([0.1, 0.5, 0.75, 1.0]),
)
def test_shares_are_rounded_up_and_every_row_is_first_or_waits(answers: list[tuple[float, int]], share: float) -> None:
    rows = group([a for a, _ in answers], [n for _, n in answers])
    first = priority(rows, share)
    for value in (0.0, 1.0):
        kind = [i for i, (a, _) in enumerate(answers) if a == value]
        assert len(first & set(kind)) == math.ceil(share * len(kind))
        for i in set(kind) & first:
            for j in set(kind) - first:
                assert answers[i][1] <= answers[j][1] if value else answers[i][1] >= answers[j][1]
    found = recompose(rows, Memory(0), num_steps=10, share=share, often=1.0, seldom=0.2)
    assert len(found) == len(rows) and all(row.in_group for row in found)
    assert {i for i, row in enumerate(found) if row.in_loss and row.in_denominator} == first
    assert {i for i, row in enumerate(found) if row.wait} == set(range(len(rows))) - first


def test_the_second_batch_becomes_rarer_by_a_cosine() -> None:
    """In the middle of the run its probability is the mean of the two ends."""
    rows = group([1, 1, 0, 0], [1, 2, 3, 4])
    memory = keep_leftovers(
        Memory(0), rows=recompose(rows, Memory(0), num_steps=1, share=0.5, often=1, seldom=1), max_age=8
    )
    for step, expected in ((0, 1.0), (50, 0.6), (100, 0.2)):
        hits = 0
        for seed in range(300):
            there = dataclasses.replace(memory, seed=seed, step=step)
            hits += len(recompose(rows, there, num_steps=101, share=0.5, often=1.0, seldom=0.2)) > len(rows)
        assert abs(hits / 300 - expected) <= 4 * math.sqrt(expected * (1 - expected) / 300)


# Who waits


def test_groups_wait_whole_until_they_train_or_are_too_old() -> None:
    memory = Memory(0)
    names = iter("abcdefgh")

    def step(memory: Memory, max_age: int = 8, rows: list[Row] | None = None) -> Memory:
        fresh = recompose(group([1, 1, 0], [1, 2, 3], next(names)), memory, num_steps=9, share=0.5, often=0, seldom=0)
        after = keep_leftovers(memory, rows=[*fresh, *(rows or [])], max_age=max_age)
        return dataclasses.replace(after, step=memory.step + 1)

    for _ in range(3):
        memory = step(memory)
    waiting = leftovers(memory)
    assert list(waiting) == ["a", "b", "c"]
    for name, (marks, episodes) in waiting.items():
        assert len(episodes) == 3 and {e.provenance for e in episodes} == {"replay"}
        found = [(e.request.group, *marks[e.request.id]) for e in episodes]  # in the loss, the group, the denominator
        assert found == [(name, False, True, False), (name, True, True, True), (name, False, True, False)]
    again = reopened(memory)
    assert leftovers(again).keys() == waiting.keys() and saved(again) == saved(memory)
    replayed = [Row(e, waited=STORE) for e in waiting["a"][1]]
    assert list(leftovers(step(memory, rows=replayed))) == ["b", "c", "d"]
    assert list(leftovers(step(memory, max_age=2))) == ["c", "e"]


def test_the_oldest_groups_come_back_when_as_many_rows_wait_as_train() -> None:
    old = [row for name in "ab" for row in group([1, 1, 0, 0], [1, 2, 3, 4], name)]
    memory = keep_leftovers(
        Memory(0), rows=recompose(old, Memory(0), num_steps=1, share=0.5, often=0, seldom=0), max_age=8
    )
    now = group([1, 0], [1, 2], "n")
    found = recompose(now, memory, num_steps=1, share=0.5, often=1, seldom=1)
    assert [row.batch for row in found] == ["first"] * 2 + ["second"] * 4
    assert [row.group for row in found[2:]] == ["a"] * 4
    assert [(r.episode.request.sample, r.in_loss) for r in found[2:]] == [(0, False), (1, True), (2, True), (3, False)]
    many = group([1, 0] * 5, [1, 2] * 5, "n")
    assert len(recompose(many, memory, num_steps=1, share=0.5, often=1, seldom=1)) == len(many)  # four wait, six train


# Runs


@pytest.mark.slow
def test_advantages_and_log_probs_are_those_of_the_sampled_group() -> None:
    """Also in the second batch, whose rows an earlier policy wrote; and whatever order the batches are trained in."""
    notes, memory = run(recipe(), engine())
    sampled = {(e.request.group, e.request.id): e for step in notes.episodes for e in step}
    seconds = 0
    for step, batches in enumerate(notes.batches):
        for batch in batches:
            assert len(batches) == 1 or batch.old is not None
            for i in range(len(batch)):
                mine = sampled[batch.group[i], batch.request[i]]
                reward = np.array([e.reward for e in sampled.values() if e.request.group == batch.group[i]])
                found = group_relative(reward, np.zeros(len(reward)), scale="std", ddof=1, epsilon=1e-6)
                place = [e.request.id for e in sampled.values() if e.request.group == batch.group[i]].index(
                    mine.request.id
                )
                span = slice(int(batch.at[i]), int(batch.at[i + 1]))
                np.testing.assert_allclose(batch.advantage[span], found[place], rtol=1e-6)
                if batch.old is not None:
                    np.testing.assert_allclose(batch.old[span], mine.stream("old"), atol=2e-6)
        if len(batches) == 2:
            seconds += 1
            assert {int(g.split(":")[0]) for g in batches[0].group} == {step}
            assert {int(g.split(":")[0]) for g in batches[1].group} <= set(range(step))
            assert notes.stats[step]["update/steps"] == 2
    assert seconds >= 2
    trained = [(g, r) for step in notes.batches for b in step for g, r in zip(b.group, b.request, strict=True)]
    assert len(trained) == len(set(trained))
    assert memory.budget.optimiser_steps == sum(s["update/steps"] for s in notes.stats)
    assert memory.budget.rollouts == len(sampled)


def test_old_log_probs_do_not_depend_on_the_order_of_the_updates() -> None:
    _, memory = run(recipe(num_steps=3), engine())
    phases, models = phases_of(recipe(num_steps=4)), models_of(engine())
    episodes, _ = phases.collect(models, phases.ask(models, phases.source(memory), memory), memory)
    rows, _ = phases.forwards(models, phases.curate(models, episodes, memory), memory)
    batches = phases.credit(rows, memory)
    assert len(batches) == 2
    for order in (batches, batches[::-1]):
        models = models_of(engine())
        for batch in order:
            before = None if batch.old is None else batch.old.copy()
            phases.improve(models, batch, memory)
            np.testing.assert_array_equal(batch.old, before)  # type: ignore[arg-type]


def test_with_the_whole_group_first_it_is_the_method_below() -> None:
    plain = recipe()
    plain = dataclasses.replace(plain, mechanism=dataclasses.replace(plain.mechanism, curate=(), remember=()))
    one, other = engine(), engine()
    (a, memory), (b, _) = run(recipe(share=1.0), one), run(plain, other)
    assert a.stats == b.stats and not memory.kept and not memory.store("left-over")
    assert all(
        (left == right).all() for left, right in zip(one.model.parameters(), other.model.parameters(), strict=True)
    )


def test_what_a_step_reports_is_what_it_collected() -> None:
    notes, _ = run(recipe(), engine())
    for episodes, rows in zip(notes.episodes, notes.rows, strict=True):
        fresh = [row for row in rows if row.episode.provenance == "fresh"]
        found, expected = step_stats(episodes, rows), step_stats(episodes, fresh)
        assert found == expected


@pytest.mark.slow
def test_a_stopped_run_goes_on_bit_for_bit() -> None:
    memory = require_resumable(recipe(num_steps=6), engine, after=3)
    assert memory.kept["left-over"]


@pytest.mark.slow
def test_a_run_that_holds_answers_goes_on_where_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without its last checkpoint a run comes to the same again, from what the one before it holds."""
    shell, model = Shell(capsys), make_model(tmp_path / "model")
    assert shell(*train_line(model, tmp_path / "run", recipe="rorecomp", scale_group_size=4)).code == 0
    whole = came_to(tmp_path / "run")
    shutil.rmtree(tmp_path / "run" / "ckpt" / "step-00000004")
    before = RunFolder.read_only(tmp_path / "run").load()
    assert before is not None and "kept" not in before.document("memory.json")
    assert of_columns(before.tensors(FILE))["left-over"]
    assert shell("resume", tmp_path / "run").code == 0
    step, files, metrics, scores = came_to(tmp_path / "run")
    assert (step, files, metrics) == whole[:3] and scores == whole[3]
