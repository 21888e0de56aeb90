"""The vote of a group, and what its shares must always be."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.verifiers.elections import majority, shares, spread_of, top_share

ANSWERS = st.lists(st.sampled_from(["a", "b", "c", None]), min_size=1, max_size=9)


def test_by_hand() -> None:
    votes = ["b", "a", "a", None, "b", None]
    assert majority(votes) == "b", "of equals the one that came first"
    assert shares(votes) == [2 / 6] * 3 + [1 / 6, 2 / 6, 1 / 6] and top_share(votes) == 2 / 6
    halves = -(2 / 6) * math.log(2 / 6)
    assert spread_of(votes) == pytest.approx(2 * halves + 2 * (1 / 6) * math.log(6))
    assert majority([None]) is None and top_share([None, None]) == 0 and top_share([]) == spread_of([]) == 0


@given(ANSWERS)
def test_the_entropy_is_that_of_the_clusters_and_lies_between_its_bounds(votes: list[str | None]) -> None:
    """Every answer that is missing is a cluster of its own; the maximum is that all differ."""
    clusters = [*Counter(v for v in votes if v is not None).values(), *([1] * votes.count(None))]
    parts = [count / len(votes) for count in clusters]
    assert spread_of(votes) == pytest.approx(-sum(p * math.log(p) for p in parts), abs=1e-12)
    assert -1e-12 <= spread_of(votes) <= math.log(len(votes)) + 1e-12
    assert (spread_of(votes) < 1e-12) == (len(clusters) == 1)
