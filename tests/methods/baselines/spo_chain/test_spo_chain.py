"""SPO-chain: cuts and mask by hand, and three steps of training."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tiny import END, episode, segment

from assay.curate.continued import CONTINUATION
from assay.curate.unsure_tokens import unsure_tokens
from assay.lab.trial import small_run
from assay.methods.baselines.spo_chain.cuts import continue_cuts, cuts
from assay.types import Episode, Origin, Row

CHANCES = [0.5, 0.95, 0.8, 0.1, 0.99, 0.6, 0.7, 0.2]


def answer(chances: list[float], sample: int = 0) -> Episode:
    """An answer of tokens that were sampled with these probabilities."""
    ids = [*([1, 2, 3, 4] * len(chances))[: len(chances) - 1], END]
    return episode([segment(ids, old=np.log(np.array(chances, np.float32)), node=str(sample))], sample=sample)


def test_a_segment_has_so_many_improbable_tokens() -> None:
    """Improbable are the tokens 0, 2, 3, 5, 6 and 7."""
    assert cuts(answer(CHANCES), below=0.9, every=2) == [0, 3, 6]
    assert cuts(answer(CHANCES), below=0.9, every=5) == [0, 7]
    assert cuts(answer(CHANCES), below=0.3, every=1) == [0, 7]


def test_the_mask_by_hand() -> None:
    (row,) = unsure_tokens([Row(answer(CHANCES))], below=0.9)
    assert row.keep is not None and row.keep.tolist() == [True, False, True, True, False, True, True, True]
    told = episode([segment([1, 2], origin=Origin.ENV), segment([3], old=np.array([-1.0], np.float32))])
    (row,) = unsure_tokens([Row(told)], below=0.9)
    assert row.keep is not None and row.keep.tolist() == [False, False, True]
    first = np.arange(8) < 4
    (row,) = unsure_tokens([Row(answer(CHANCES), keep=first)], below=0.9)
    assert row.keep is not None and np.flatnonzero(row.keep).tolist() == [0, 2, 3]


def test_what_is_continued() -> None:
    """Two answers that are alike up to the fourth token share two of their states."""
    asked = continue_cuts([answer(CHANCES), answer(CHANCES[:4], 1)], branches=2, below=0.9, every=2)
    assert [(request.given, request.sample, request.tag) for request in asked] == [
        (at, i, CONTINUATION) for at in (0, 3, 6) for i in (0, 1)
    ]
    assert len({request.id for request in asked}) == 6


@given(st.lists(st.floats(0.01, 0.999), min_size=1, max_size=30), st.integers(1, 6))
def test_every_segment_but_the_last_has_the_same_number_of_improbable_tokens(chances: list[float], every: int) -> None:
    own = answer(chances)
    found = [*cuts(own, below=0.9, every=every), len(own)]
    improbable = own.stream("old") < np.log(0.9)
    counts = [int(improbable[a:b].sum()) for a, b in zip(found, found[1:], strict=False)]
    assert all(count == every for count in counts[:-1]) and counts[-1] <= every
    assert sum(counts) == improbable.sum()


def test_three_steps_of_training(tmp_path: Path) -> None:
    run = small_run("spo-chain", tmp_path)
    for record in run.metrics():
        assert record["rollouts"] > 8 and np.isfinite(record["policy/grad_norm"])


def test_the_whole_answer_is_one_segment_where_the_policy_is_sure() -> None:
    assert cuts(answer([0.99] * 6), below=0.9, every=1) == [0]
