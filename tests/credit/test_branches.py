"""The mean of the advantages of rows that share tokens."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import episode, segment

from assay.credit.branches import shared_mean
from assay.types import Origin, Row

ENV = Origin.ENV


def test_a_shared_token_gets_the_mean_of_its_rows() -> None:
    root, left, right = (segment([1, 2], node=name) for name in ("root", "left", "right"))
    reply = segment([3], origin=ENV)
    rows = [
        Row(episode([root, reply, left], sample=0), advantage=np.full(5, 3.0)),
        Row(episode([root, reply, right], sample=1), advantage=np.full(5, -1.0)),
        Row(episode([root.first(1)], sample=2), advantage=np.full(1, 4.0)),
        Row(episode([root], sample=0, group="other"), advantage=np.full(2, 7.0)),
    ]
    found = [row.advantage.tolist() for row in shared_mean(rows) if row.advantage is not None]
    assert found == [[2.0, 1.0, 3.0, 3.0, 3.0], [2.0, 1.0, -1.0, -1.0, -1.0], [2.0], [7.0, 7.0]]


@settings(max_examples=50, deadline=None)
@given(
    members=st.lists(st.tuples(st.integers(0, 3), st.integers(-8, 8)), min_size=1, max_size=8),
)
def test_a_mean_over_rows_moves_no_weight_between_nodes(members: list[tuple[int, int]]) -> None:
    """Rows of one shared beginning of so many tokens: what the copies of each token weigh together does not change."""
    nodes = [segment([1] * (n + 1), node=f"n{n}") for n in range(4)]
    rows = [
        Row(episode([nodes[n], segment([2], node=f"own{i}")], sample=i), advantage=np.full(n + 2, float(a)))
        for i, (n, a) in enumerate(members)
    ]
    before, after = Counter[tuple[str, int]](), Counter[tuple[str, int]]()
    for sums, some in ((before, rows), (after, shared_mean(rows))):
        for row in some:
            assert row.advantage is not None
            names = [(s.node, j) for s in row.episode.segments for j in range(len(s))]
            for name, a in zip(names, row.advantage, strict=True):
                sums[name] += a  # type: ignore[assignment]
    assert before.keys() == after.keys()
    assert all(after[name] == pytest.approx(before[name]) for name in before)
