"""The shape by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from assay.lab.templates.method.parts.shape import MyMethod
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
    (shaped,) = bind(MyMethod(factor=0.25))(rows([True], advantage=np.array([1.0, -1.0])))
    assert shaped.advantage.tolist() == [1.0, -0.25]
