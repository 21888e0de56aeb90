"""What is computed, by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from assay.lab.templates.method.parts.forwards import SURPRISE, MyMethod
from assay.part import bind
from assay.types import Episode, Origin, Problem, Request, Reward, Row, Segment, Verdict


def answer(sample: int, *, right: bool, length: int = 2) -> Episode:
    asked = Request(Problem("countdown", "?", {}, "?"), np.zeros(2, np.int32), "0:0", 4, sample=sample)
    written = Segment(
        np.zeros(length, np.int32),
        np.full(length, Origin.POLICY, np.int8),
        mu=np.array([-1.0, -3.0][:length], np.float32),
    )
    verdict = Verdict.ok() if right else Verdict.fail("wrong")
    return Episode(asked, (written,), "stop", verdict=verdict, rewards=(Reward("outcome", float(right)),))


def rows(rewards: Sequence[bool], **changes: Any) -> list[Row]:
    return [Row(answer(sample, right=right)).mark(**changes) for sample, right in enumerate(rewards)]


def test_by_hand() -> None:
    """-log mu is 1 and 3: 2 a token."""
    (row,), stats = bind(MyMethod())(rows([True]))
    assert row.constants[SURPRISE].tolist() == [1.0, 3.0] and stats == {"my-method/surprise": 2.0}
