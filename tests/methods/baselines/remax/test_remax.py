"""ReMax: the greedy answer is the baseline."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from enumerated import TRUE, bare, expected_ascent
from hypothesis import given
from hypothesis import strategies as st
from partners import credited, small
from tiny import END, episode, group_of, phases_of, policy, register, run, segment

from assay.curate.parts import statistics_only
from assay.memory import Memory
from assay.methods.baselines.remax.credit import GreedyRelative
from assay.methods.baselines.remax.greedy import greedy
from assay.record.measure import step_stats
from assay.types import Origin, Row


@pytest.fixture(autouse=True)
def letters(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def greedy_group(rewards: list[float | None], worth: float | None) -> list[Row]:
    """The last is the greedy one."""
    rows = group_of([*rewards, worth])
    return statistics_only([*rows[:-1], rows[-1].mark(tag="greedy")], tag="greedy")


def test_the_greedy_answer_is_the_baseline_and_nothing_else() -> None:
    """Returns to go of the token rewards, less its reward; it neither trains nor counts."""
    rows = greedy_group([1.0, 0.0], 0.25)
    rows[1] = rows[1].mark(process=np.array([-0.5, -0.1], np.float32))
    found = credited(GreedyRelative(), rows)
    np.testing.assert_allclose(found, [[0.75] * 2, [-0.85, -0.35], [0.0] * 2], atol=1e-7)
    assert [(r.in_loss, r.in_group, r.in_denominator) for r in rows] == [(True,) * 3] * 2 + [(False, True, False)]
    batch = phases_of(small("remax")).credit(rows, Memory(0))[0]
    assert len(batch) == 2


def test_without_a_baseline_nothing_is_pushed() -> None:
    """Its verdict was lost by an error of ours."""
    (batch,) = phases_of(small("remax")).credit(greedy_group([1.0, 0.0], None), Memory(0))
    assert (batch.advantage == 0).all()


@given(st.floats(-2, 2), st.floats(-2, 2))
def test_a_tool_in_between_is_no_step_to_the_greedy_baseline(reward: float, worth: float) -> None:
    pieces = [segment([1]), segment([2, 2], origin=Origin.ENV), segment([END])]
    rows = [Row(episode(pieces, reward=reward)), Row(episode([1], sample=1, reward=worth), tag="greedy")]
    (first, _) = credited(GreedyRelative(), rows)
    assert first == pytest.approx([reward - worth, 0.0, 0.0, reward - worth])


def test_greedy_answers_are_asked_once_a_group_and_counted() -> None:
    recipe = small("remax", group_size=2, top_p=0.5)
    notes, memory = run(recipe, policy("fp32", init_std=0.1))
    for episodes, rows, (batch,) in zip(notes.episodes, notes.rows, notes.batches, strict=True):
        asked = [e.request for e in episodes]
        plain = [r for r in asked if r.tag == "greedy"]
        assert len(asked) == 12 and len(plain) == 4 and len({r.id for r in asked}) == 12
        assert all((r.temperature, r.top_p, r.sample) == (0.0, 1.0, 2) for r in plain)
        assert {r.id for r in plain}.isdisjoint(batch.request) and len(batch) == 8
        for one in plain:
            same = [e for e in episodes if e.request.problem.id == one.problem.id and e.request.tag == "greedy"]
            assert len({tuple(e.stream("ids").tolist()) for e in same}) == 1
        stats, sampled = step_stats(episodes, rows), [e for e in episodes if e.request.tag != "greedy"]
        assert stats["reward/accuracy"] == np.mean([e.right for e in sampled]) and stats["rollouts"] == 12
    assert memory.budget.rollouts == 48
    assert memory.budget.generated_tokens == sum(len(e) for step in notes.episodes for e in step)
    assert sum(tried for _, tried in memory.store("pass-rates").values()) == 32


def test_greedy_requests_stand_behind_their_group() -> None:
    rows = [*group_of([0.0, 0.0], name="a"), *group_of([0.0], name="b")]
    asked = greedy([dataclasses.replace(r.episode.request, top_k=3) for r in rows], tag="greedy")
    assert [(r.group, r.sample, r.temperature, r.top_k) for r in asked] == [
        ("a", 0, 1.0, 3),
        ("a", 1, 1.0, 3),
        ("a", 2, 0.0, 0),
        ("b", 0, 1.0, 3),
        ("b", 1, 0.0, 0),
    ]


@pytest.mark.parametrize("worth", [0.0, 0.25, 1.0])
def test_a_baseline_of_any_worth_is_without_bias(worth: float) -> None:
    """Over all answers that a policy may give."""
    baseline = Row(episode([1, 1], sample=9, reward=worth)).mark(tag="greedy", in_loss=False, in_denominator=False)
    found = expected_ascent(bare("remax"), 1, beside=[baseline])
    np.testing.assert_allclose(found, TRUE, rtol=1e-5, atol=1e-7)
