"""What is drawn at random."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from assay.memory import Memory


def require_fresh_draws(draw: Callable[[Memory, str], Sequence[Any]]) -> None:
    """What is drawn at random is drawn anew in every step, group and run: of four or more that are as likely each,
    twenty draws are not all the same, and the same draw is.
    """
    steps = [str(draw(dataclasses.replace(Memory(0), step=step), "g")) for step in range(20)]
    groups = [str(draw(Memory(0), f"g{i}")) for i in range(20)]
    seeds = [str(draw(Memory(seed), "g")) for seed in range(20)]
    for drawn in (steps, groups, seeds):
        assert len({*drawn}) > 1 and drawn.count(drawn[0]) < 20
    assert steps == [str(draw(dataclasses.replace(Memory(0), step=step), "g")) for step in range(20)]
