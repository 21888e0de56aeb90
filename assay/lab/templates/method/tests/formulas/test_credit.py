"""The advantages by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from assay.lab.templates.method.parts.credit import MyMethod
from assay.part import bind
from assay.types import Episode, Origin, Problem, Request, Reward, Row, Segment, Verdict


def answer(sample: int, *, right: bool, length: int = 2) -> Episode:
    asked = Request(Problem("countdown", "?", {}, "?"), np.zeros(2, np.int32), "0:0", 4, sample=sample)
    written = Segment(np.zeros(length, np.int32), np.full(length, Origin.POLICY, np.int8))
    verdict = Verdict.ok() if right else Verdict.fail("wrong")
    return Episode(asked, (written,), "stop", verdict=verdict, rewards=(Reward("outcome", float(right)),))


def rows(rewards: Sequence[bool], **changes: Any) -> list[Row]:
    return [Row(answer(sample, right=right)).mark(**changes) for sample, right in enumerate(rewards)]


def test_by_hand() -> None:
    """Rewards 1, 0, 0, 0: 3/4 and -1/4, and a half of that."""
    found = [row.advantage for row in bind(MyMethod(share=0.5))(rows([True, False, False, False]))]
    assert [a.tolist() for a in found if a is not None] == [[0.375] * 2, *[[-0.125] * 2] * 3]
