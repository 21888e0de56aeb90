"""A small study, and results that no run came to, for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from small_runs import SIZES

from assay.lab.study.plan import Arm, Budget, Study, tasks_of
from assay.lab.study.results import Exam, Result
from assay.scoring.bank import Bank

TASK = "countdown:3"
SMALL = {name: str(value) for name, value in SIZES.items()}


def study_of(model: Path | str = "countdown", **changes: Any) -> Study:
    """Two methods on one task, two seeds of two steps."""
    values: dict[str, Any] = {
        "arms": {"grpo": Arm("grpo"), "rloo": Arm("rloo")},
        "tasks": tasks_of([TASK]),
        "seeds": (0, 1),
        "budget": Budget("steps", 2),
        "model": str(model),
        "settings": SMALL,
    }
    return Study(**{**values, **changes})


def result_of(arm: str, seed: int, right: np.ndarray, *, samples: int = 8, **changes: Any) -> Result:
    zero = np.zeros(len(right), np.int64)
    ids = tuple(f"p{i}" for i in range(len(right)))
    bank = Exam.of(
        Bank(ids, ("toy",) * len(right), zero, zero + samples, right.astype(np.int64), zero, zero, zero, max_new=22)
    )
    values: dict[str, Any] = {
        "key": "k",
        "arm": arm,
        "task": TASK,
        "seed": seed,
        "rate": 1.0,
        "steps": 2,
        "planned": 2,
        "code": "c",
        "seconds": 60.0,
        "measured": "2026-01-01",
        "spent": {"generated_tokens": 1000.0, "optimiser_steps": 2.0},
        "curve": ((0, 0.0, 0.1), (2, 1000.0, 0.1 + seed / 100)),
        "series": {"entropy": [(0.0, 1.0), (1000.0, 0.5)], "reward": [], "length": [(0.0, 9.0)]},
        "before": bank,
        "after": bank,
        "asked": ("test", 22, 1.0),
    }
    return Result(**{**values, **changes})
