"""The marks by hand."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from assay.lab.templates.method.parts.curate import MyMethod
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
    whole, cut = rows([True, False])
    cut = cut.mark(episode=dataclasses.replace(cut.episode, finish="length"))
    assert [row.in_loss for row in bind(MyMethod())([whole, cut])] == [True, False]
    assert all(row.in_group and row.in_denominator for row in bind(MyMethod())([whole, cut]))
