"""GRPO-RoC: who is kept of a group that was sampled twice as large, and what that does to a run."""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import Any

import numpy as np
import pytest
from fresh_draws import require_fresh_draws
from hypothesis import given, settings
from hypothesis import strategies as st
from talking import TALKING, replying
from tiny import Letters, episode, group_of, policy, recipe_of, register, require_resumable, run, segment

from assay.credit.advantage import group_relative
from assay.memory import Memory
from assay.methods.exploration.rstar2.resample import penalty, quotas, resample_on_correct
from assay.recipe import Recipe
from assay.types import Origin, Row

ENV = Origin.ENV


def answer(spelt: str, text: str, *, right: bool = True, sample: int = 0, group: str = "g") -> Row:
    """`spelt` is who wrote what: p for a turn, g for a good reply, b for an error."""
    pieces = [segment([1]) if c == "p" else segment([2], origin=ENV, failed=c == "b") for c in spelt]
    return Row(episode(pieces, group=group, sample=sample, reward=float(right), text=text))


@pytest.mark.parametrize(
    ("spelt", "text", "expected"),
    [
        ("pgpgp", "..#4", 0.0),
        ("pbpgp", "..#4", 1 / 2),
        ("pbpbpgp", "..#4", 2 / 3),
        ("p", "#4", 1 / 2),
        ("p", "4", 3 / 2),
        ("pgp", "#4.#5", 1 / 2),
        ("pgpgp", "#4.#5", 1 / 3),
        ("pbp", "#1#2#3#4#5", 1 + 1),
    ],
)
def test_penalty(spelt: str, text: str, expected: float) -> None:
    assert penalty(answer(spelt, text)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("right", "wrong", "expected"),
    [
        (16, 16, (8, 8)),
        (24, 8, (12, 4)),
        (31, 1, (15, 1)),
        (29, 3, (14, 2)),
        (30, 2, (14, 2)),
        (2, 30, (2, 14)),
        (1, 31, (1, 15)),
        (3, 29, (2, 14)),
    ],
)
def test_quotas_of_sixteen_from_thirty_two(right: int, wrong: int, expected: tuple[int, int]) -> None:
    """round(n 16/32), at least two of each kind where there are two."""
    assert quotas(right, wrong, 16, 2) == expected


@settings(max_examples=200, deadline=None)
@given(keep=st.integers(4, 16), right=st.integers(0, 40), wrong=st.integers(0, 40), least=st.integers(0, 2))
def test_quotas_are_filled_and_can_be(keep: int, right: int, wrong: int, least: int) -> None:
    if right + wrong <= keep:
        return
    of_right, of_wrong = quotas(right, wrong, keep, least)
    assert of_right + of_wrong == keep and 0 <= of_right <= right and 0 <= of_wrong <= wrong
    assert of_right >= min(least, right) and of_wrong >= min(least, wrong)


def test_the_cleanest_right_rows_stay_and_any_wrong_ones() -> None:
    spelt = ["pgp", "pbp", "pbpgp", "p"]  # penalties 0, 1, 1/2, 1/2
    rows = [answer(spelt[i % 4], "#1", right=i < 16, sample=i) for i in range(32)]
    found = resample_on_correct(rows, Memory(0), keep=16, least=2)
    kept = [i for i, row in enumerate(found) if row.in_loss]
    assert {i for i in kept if i < 16} >= {0, 4, 8, 12} and not {1, 5, 9, 13} & set(kept)
    assert sum(i < 16 for i in kept) == 8 == sum(i >= 16 for i in kept)
    for row in found:
        assert row.in_loss == row.in_group == row.in_denominator
    # wrong rows: over many steps each kind of trace is as frequent as it is among the wrong ones
    counts: Counter[str] = Counter()
    for step in range(100):
        again = resample_on_correct(rows, Memory(0, step=step), keep=16, least=2)
        counts.update(spelt[i % 4] for i, row in enumerate(again) if row.in_loss and i >= 16)
    assert all(abs(counts[s] - 200) < 50 for s in spelt)


@settings(max_examples=50, deadline=None)
@given(rewards=st.lists(st.sampled_from([0.0, 1.0, None]), min_size=1, max_size=24), seed=st.integers(0, 99))
def test_what_is_kept_does_not_depend_on_order_or_on_other_groups(rewards: list[float | None], seed: int) -> None:
    rows = group_of(rewards)
    rows = [row if row.reward is not None else row.mark(in_loss=False, in_group=False) for row in rows]
    order = np.random.default_rng(seed).permutation(len(rows))

    def kept(some: list[Row]) -> set[str]:
        found = resample_on_correct(some, Memory(seed), keep=6, least=2)
        assert [r.episode for r in found] == [r.episode for r in some]
        return {row.episode.request.id for row in found if row.in_loss and row.group == "g"}

    assert kept(rows) == kept([rows[i] for i in order]) == kept(rows + group_of([1.0, 0.0] * 8, name="other"))
    assert len(kept(rows)) == min(6, sum(r is not None for r in rewards))


# Runs


def reply(spec: object, text: str) -> str | None:
    """After a b: an error the first time."""
    if not text.endswith("b") or text.count("d") + text.count("c") > 2:
        return None
    return "c" if "c" in text or "d" in text else "d"


FAILING = dataclasses.replace(TALKING, world=replying(reply, "b", failed=lambda r: r == "d"))


@pytest.fixture(autouse=True)
def failing(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, FAILING)


def engine():
    return policy("fp32", decode=Letters().decode)


def recipe(**scale: object) -> Recipe:
    sizes = {"num_prompts": 6, "group_size": 8, "num_steps": 4, "warmup_steps": 0, "learning_rate": 0.01, **scale}
    return recipe_of("rstar2", max_new=8, **sizes)


def test_a_run_trains_half_of_what_it_samples_and_counts_all_of_it() -> None:
    notes, memory = run(recipe(num_steps=2), engine())
    for rows, (batch,), stats in zip(notes.rows, notes.batches, notes.stats, strict=True):
        mixed = [g for g in {r.group for r in rows} if len({r.reward for r in rows if r.group == g}) > 1]
        assert Counter(batch.group) == dict.fromkeys(mixed, 4)
        for g in mixed:
            places = [i for i, name in enumerate(batch.group) if name == g]
            reward = np.array([r.reward for q in places for r in rows if r.episode.request.id == batch.request[q]])
            found = [batch.advantage[batch.at[q]] for q in places]
            expected = group_relative(reward, np.zeros(4), scale="std", ddof=1, epsilon=1e-6)
            np.testing.assert_allclose(found, expected, rtol=1e-6)
        assert stats["update/steps"] == 1
    assert memory.budget.rollouts == 2 * 48
    assert memory.budget.generated_tokens == sum(
        int((e.stream("origin") == Origin.POLICY).sum()) for s in notes.episodes for e in s
    )
    flags = {s.failed for s in notes.episodes[0][0].segments} | {
        s.failed for e in notes.episodes[0] for s in e.segments if len(s) and s.origin[0] == ENV
    }
    assert flags == {True, False}


@pytest.mark.slow
def test_a_stopped_run_goes_on_bit_for_bit() -> None:
    require_resumable(recipe(), engine, after=2)


def resampled(memory: Memory, name: str) -> Any:
    made = resample_on_correct(group_of([1.0, 0.0] * 4, name=name), memory, keep=4, least=1)
    return [row.in_loss for row in made]


def test_what_is_resampled_is_drawn_anew_in_every_step_and_group() -> None:
    require_fresh_draws(resampled)
