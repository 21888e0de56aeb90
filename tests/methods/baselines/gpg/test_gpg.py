"""GPG: the weight of groups that contribute."""

from __future__ import annotations

import numpy as np
import pytest
from partners import credited, small
from tiny import ALONE, group_of, policy, register, run

from assay.methods.baselines.gpg.contributing import Contributing


@pytest.fixture(autouse=True)
def letters(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def test_rows_that_contribute_carry_the_weight_of_all() -> None:
    """Five of eight rows are in mixed groups: a factor of 8/5; without any the advantages stay."""
    rows = [*group_of([1.0, 0.0], name="a"), *group_of([1.0, 1.0, 1.0], name="b"), *group_of([0.0, 0.0, 1.0], name="c")]
    made = [row.mark(advantage=np.full(2, float(i))) for i, row in enumerate(rows)]
    assert credited(Contributing(), made) == [[pytest.approx(i * 8 / 5)] * 2 for i in range(8)]
    alike = [row.mark(advantage=np.ones(2)) for row in group_of([1.0, 1.0])]
    assert credited(Contributing(), alike) == [[1.0, 1.0]] * 2


def test_problems_are_drawn_until_a_share_of_the_step_contributes(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, ALONE)
    notes, _ = run(small("gpg", num_steps=6), policy("fp32", init_std=0.1))
    for rows, (batch,) in zip(notes.rows, notes.batches, strict=True):
        mixed = {r.group for r in rows if 0 < sum(o.episode.right for o in rows if o.group == r.group) < 4}
        assert len(set(batch.group)) == 4
        assert len(mixed & set(batch.group)) == min(4, len(mixed))
        drawn = len({r.group for r in rows})
        assert len(mixed) >= 0.6 * 4 or drawn == 20 * 4
        if drawn > 4:  # not before the draw that was needed
            before = [r.group for r in rows if r.episode.request.draw < drawn - 4]
            assert len(mixed & set(before)) < 0.6 * 4
