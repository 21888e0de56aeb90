"""The ratio by hand."""

from __future__ import annotations

import math

import pytest
import torch

from assay.lab.templates.method.parts.ratio import MyMethod
from assay.part import bind


def test_by_hand() -> None:
    """The root of four is two."""
    ratio = bind(MyMethod(power=0.5))(torch.tensor([math.log(4.0), 0.0]), torch.zeros(2))
    assert ratio.tolist() == pytest.approx([2.0, 1.0])
