"""The weights by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from assay.lab.templates.method.parts.aggregate import MyMethod
from assay.part import bind


def test_by_hand() -> None:
    """Rows of four and of one token: 1 / (2 * 2) and 1 / 2."""
    lengths = np.array([4, 1])
    batch: Any = SimpleNamespace(
        counted_rows=np.ones(2, bool), mask=np.ones(5, bool), at=np.array([0, 4, 5]), lengths=lengths
    )
    assert bind(MyMethod())(batch).tolist() == pytest.approx([0.25] * 4 + [0.5])
