"""The requests by hand."""

from __future__ import annotations

import numpy as np

from assay.lab.templates.method.parts.ask import MyMethod
from assay.part import bind
from assay.types import Problem, Request


def request(sample: int) -> Request:
    return Request(Problem("countdown", "?", {}, "?"), np.zeros(2, np.int32), "0:0", 4, sample=sample)


def test_by_hand() -> None:
    made = bind(MyMethod(factor=2.0))([request(0), request(1)])
    assert [one.temperature for one in made] == [1.0, 2.0]
