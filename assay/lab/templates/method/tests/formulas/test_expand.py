"""The requests by hand."""

from __future__ import annotations

import numpy as np

from assay.lab.templates.method.parts.expand import MyMethod
from assay.part import bind
from assay.types import Episode, Origin, Problem, Request, Reward, Segment, Verdict


def answer(sample: int, *, right: bool, length: int = 2) -> Episode:
    asked = Request(Problem("countdown", "?", {}, "?"), np.zeros(2, np.int32), "0:0", 4, sample=sample)
    written = Segment(np.zeros(length, np.int32), np.full(length, Origin.POLICY, np.int8))
    verdict = Verdict.ok() if right else Verdict.fail("wrong")
    return Episode(asked, (written,), "stop", verdict=verdict, rewards=(Reward("outcome", float(right)),))


def test_by_hand() -> None:
    """An unsolved group of two is asked a third time, and then never again; a solved one is not."""
    expand = bind(MyMethod(most=1), group_size=2)
    missed = [answer(0, right=False), answer(1, right=False)]
    (more,) = expand(missed)
    assert more.sample == 2 and more.group == "0:0"
    assert expand([*missed, answer(2, right=False)]) == [] == expand([answer(0, right=True), answer(1, right=False)])
