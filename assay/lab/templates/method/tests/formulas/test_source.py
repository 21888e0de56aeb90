"""The draws by hand."""

from __future__ import annotations

from assay.lab.templates.method.parts.source import MyMethod
from assay.memory import Memory
from assay.part import bind
from assay.source import Pool, Share


def test_a_problem_depends_on_its_step_and_its_ordinal_alone() -> None:
    draw = bind(MyMethod(), pool=Pool((Share("countdown", (3,)),)))
    every = [problem.id for problem in draw(Memory(0), 0, 6)]
    assert [problem.id for problem in draw(Memory(0), 2, 3)] == every[2:5]
    assert [problem.id for problem in draw(Memory(1), 0, 6)] != every
