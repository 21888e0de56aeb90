"""Pairs of a right and a wrong answer, and the temperature at which rows train."""

from __future__ import annotations

import dataclasses

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from preferred import signs
from tiny import episode, group_of

from assay.credit import pack
from assay.curate.pairs import pairs, train_at
from assay.memory import Memory
from assay.types import Row

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


# Rows under other questions, other temperatures


def test_rows_are_trained_at_their_temperature() -> None:
    hot, plain = Row(episode([1, 0], temperature=0.8)), Row(episode([2]))
    found = train_at([hot, plain], temperature=1.0)
    assert found[1] is plain
    assert found[0].episode.request.temperature == 1.0 and found[0].episode.request.id == hot.episode.request.id
    batch = pack(found)
    assert batch.temperature.tolist() == [1.0, 1.0]
    assert batch.sampled is not None and np.isnan(batch.sampled[:2]).all() and batch.sampled[2] == -1.0
    assert hot.episode.stream("old").tolist() == [-1.0, -1.0]
