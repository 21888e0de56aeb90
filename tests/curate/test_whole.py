"""Answers that the limit cut stay out of the loss."""

from __future__ import annotations

from tiny import episode

from assay.curate import WholeAnswers
from assay.part import bind
from assay.types import Row


def test_what_the_limit_cut_leaves_the_denominator_and_stays_in_the_statistics() -> None:
    ends = [(8, "length"), (8, "stop"), (3, "stop")]
    rows = [Row(episode([1] * n, sample=i, finish=finish)) for i, (n, finish) in enumerate(ends)]
    found = bind(WholeAnswers())(rows)
    assert [(r.in_loss, r.in_denominator, r.in_group) for r in found] == [(False, False, True)] + [(True,) * 3] * 2
