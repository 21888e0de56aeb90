"""The condition by hand."""

from __future__ import annotations

from assay.lab.templates.method.parts.when import MyMethod
from assay.part import bind


def test_by_hand() -> None:
    """The last value counts, and none is none."""
    begins = bind(MyMethod(metric="accuracy", least=0.5))
    assert begins({"accuracy": (0.2, 0.5)}) and not begins({"accuracy": (0.9, 0.4)}) and not begins({})
