"""Worked solutions in several ways of reasoning, whose shares are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from assay.rng import Key
from assay.tasks.task import Solution, Spec


@dataclass(frozen=True)
class Strategies:
    """The ways in which the solutions of a task are written. The content of a problem draws one by the shares.

    Example:
        WAYS = Strategies("trace", {"direct": 0.2, "forward": 0.8}, canonical=_canonical, written=_written)
        Wordings(solve=WAYS.solve, others=WAYS.others, ...)
    """

    task: str
    shares: Mapping[str, float]  # they sum up to 1
    canonical: Callable[[Spec], str]
    written: Callable[[Spec, str], Solution]  # the solution of a problem by a strategy

    def of(self, spec: Spec) -> str:
        """The strategy that the problem's content draws."""
        left = Key("strategy", self.task, self.canonical(spec)).bits / 2**64
        for name, share in self.shares.items():
            left -= share
            if left < 0:
                return name
        return list(self.shares)[-1]  # shares that sum up to a little less than 1, by rounding

    def solve(self, spec: Spec) -> Solution:
        return self.written(spec, self.of(spec))

    def others(self, spec: Spec) -> list[Solution]:
        own = self.of(spec)
        return [self.written(spec, strategy) for strategy in self.shares if strategy != own]
