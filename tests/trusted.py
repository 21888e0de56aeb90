"""Gates beside the losses that they are slopes of, objectives on policy, and rows of given ratios."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st
from tiny import episode, group_of, pushes, segment
from torch import Tensor

from assay.objective import NoRatio, Objective, Open, SequenceMean
from assay.types import Row

GRID = (0.5, 0.79, 0.81, 1.0, 1.19, 1.21, 1.27, 1.29, 3.1, 11.0)


def require_slope(
    gate: Callable[..., Tensor], values: dict[str, Any], loss: Callable[[Tensor, Tensor], Tensor], sign: float
) -> None:
    """The gate is the derivative by log pi, in units of A, of the loss of (log-ratio, advantage)."""
    advantage = torch.full((10,), sign, dtype=torch.float64)
    logp = torch.tensor(GRID, dtype=torch.float64).log().requires_grad_()
    loss(logp, advantage).sum().backward()
    assert logp.grad is not None
    found = gate(torch.tensor(GRID, dtype=torch.float64), advantage, **values)
    torch.testing.assert_close(found, -logp.grad / advantage, rtol=1e-9, atol=1e-13)


def require_reinforce_on_policy(goal: Objective) -> None:
    """The policy is the old one and the sampler: one group, equal lengths, the same advantages and aggregation."""
    rows = [row.mark(old=np.full(3, -1.0, np.float32)) for row in group_of([1.0, 0.0, 0.0, 1.0], lengths=[3] * 4)]
    rows = [row.mark(advantage=np.full(3, a)) for row, a in zip(rows, (0.7, -1.3, 0.0, 2.0), strict=True)]
    plain = Objective(ratio=NoRatio(), gate=Open(), aggregate=SequenceMean())
    np.testing.assert_allclose(pushes(goal, rows, -1.0), pushes(plain, rows, -1.0), rtol=1e-6)


ratios = st.lists(st.floats(0.2, 5.0), min_size=1, max_size=6)


def of_ratios(values: list[float], advantage: float) -> tuple[list[Row], dict[str, list[float]]]:
    old = np.full(len(values), -3.0, np.float32)
    row = Row(episode([segment([1] * len(values), old=old, mu=old)])).mark(old=old)
    row = row.mark(advantage=np.full(len(values), advantage))
    return [row], {row.episode.request.id: (-3.0 + np.log(values)).tolist()}
