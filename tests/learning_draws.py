"""Learning tests over many seeds: `--learning-seeds 20` runs each that is marked `learning` with twenty of them.

The seed decides the weights that `tiny.policy` begins with and the numbers that `tiny.run` draws. What such a test
asserts of a run it says with `shown`, so that the margin can be seen: `--learning-to FILE` keeps each number beside its
bound. `tests/seeds_of_learning.py` does that on every variant.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

Number = float | np.floating[Any]


class Draw:
    """The seed of the learning test that runs, and what it measured."""

    seed = 0
    measured: ClassVar[list[tuple[str, float, float]]] = []  # what, the number, its bound

    @classmethod
    def begin(cls, seed: int) -> None:
        cls.seed = seed
        cls.measured.clear()


def shown(
    what: str, value: float | np.floating[Any], *, above: float | None = None, below: float | None = None
) -> None:
    """Asserts what was learnt: a number above a bound, or below one."""
    assert (above is None) != (below is None), "one bound"
    bound = below if above is None else above
    assert bound is not None
    Draw.measured.append((what, round(float(value), 4), float(bound)))
    held = value > bound if below is None else value < bound
    assert held, f"{what} is {value:.4g}, expected {'above' if below is None else 'below'} {bound:.4g}"


class Draws:
    """Repeats learning tests with other seeds, and writes down what they measured."""

    def __init__(self, config: pytest.Config) -> None:
        self.count = int(config.getoption("--learning-seeds") or 1)
        self.file: str | None = config.getoption("--learning-to")
        only: str | None = config.getoption("--learning-only")
        self.only = None if only is None else set(Path(only).read_text().splitlines())

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self.only is not None:
            items[:] = [item for item in items if _name(item) in self.only]

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        if self.count > 1 and metafunc.definition.get_closest_marker("learning"):
            seeds = range(self.count)
            metafunc.parametrize("learning_seed", seeds, indirect=True, ids=[f"seed-{seed}" for seed in seeds])

    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> None:
        if self.file and call.when == "call" and item.get_closest_marker("learning"):
            line = {"test": _name(item), "seed": Draw.seed, "held": call.excinfo is None, "measured": Draw.measured}
            with Path(self.file).open("a") as file:
                file.write(json.dumps(line) + "\n")


def _name(item: pytest.Item) -> str:
    """The name of a test without its seed."""
    return re.sub(r"\[seed-\d+\]|-seed-\d+|seed-\d+-", "", item.nodeid)
