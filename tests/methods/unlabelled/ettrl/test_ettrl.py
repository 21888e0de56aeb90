"""ETTRL: advantages by relative entropy, and a run with forks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import episode, segment

from assay.lab.trial import small_run
from assay.methods.unlabelled.ettrl.relative_entropy import relative_entropy
from assay.types import Row


def rows_of(*entropies: list[float]) -> list[Row]:
    """A group in which answer i has the advantage i + 1 at all tokens."""
    made = [
        episode([segment([1] * len(h), entropy=np.array(h, np.float32))], sample=i) for i, h in enumerate(entropies)
    ]
    return [Row(one, advantage=np.full(len(one), i + 1.0)) for i, one in enumerate(made)]


def test_by_hand() -> None:
    """Mean entropies 1, 2 and 3: relative to their mean 0.5, 1 and 1.5, of which two are out of bounds."""
    found = relative_entropy(rows_of([1.0, 1.0], [1.0, 3.0], [3.0]), bound=0.2)
    for row, expected in zip(found, ([0.8, 0.8], [2.0, 2.0], [3.6]), strict=True):
        assert row.advantage is not None and row.advantage.tolist() == pytest.approx(expected)


def test_what_is_not_known_changes_nothing() -> None:
    rows = rows_of([float("nan")], [0.0])
    found = relative_entropy(rows, bound=0.2)
    assert [row.advantage.tolist() for row in found if row.advantage is not None] == [[1.0], [2.0]]


@given(st.lists(st.floats(0, 5), min_size=1, max_size=5), st.floats(0, 1))
def test_no_advantage_changes_its_sign_or_more_than_the_bound(entropies: list[float], bound: float) -> None:
    for i, row in enumerate(relative_entropy(rows_of(*([h] for h in entropies)), bound=bound)):
        assert row.advantage is not None
        assert (1 - bound) * (i + 1) - 1e-9 <= row.advantage[0] <= (1 + bound) * (i + 1) + 1e-9


def test_three_steps_of_training(tmp_path: Path) -> None:
    """Two groups of one trunk and three branches."""
    run = small_run("ettrl", tmp_path)
    assert [record["rollouts"] for record in run.metrics()] == [8.0, 8.0, 8.0]
