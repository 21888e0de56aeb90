"""The memory by hand."""

from __future__ import annotations

import numpy as np

from assay.lab.templates.method.parts.remember import MyMethod
from assay.memory import Memory
from assay.part import bind
from assay.types import Episode, Origin, Problem, Request, Reward, Segment, Verdict


def answer(sample: int, *, right: bool, length: int = 2) -> Episode:
    asked = Request(Problem("countdown", "?", {}, "?"), np.zeros(2, np.int32), "0:0", 4, sample=sample)
    written = Segment(np.zeros(length, np.int32), np.full(length, Origin.POLICY, np.int8))
    verdict = Verdict.ok() if right else Verdict.fail("wrong")
    return Episode(asked, (written,), "stop", verdict=verdict, rewards=(Reward("outcome", float(right)),))


def test_by_hand() -> None:
    remember, memory = bind(MyMethod(), place="my-method"), Memory(0)
    for right in (True, False, True):
        memory = remember(memory, episodes=[answer(0, right=right)])
    assert list(dict(memory.store("my-method")).values()) == [2]
