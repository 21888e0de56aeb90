"""How far rounding may move the numbers of a network: the tolerance of a comparison, from the arithmetic itself.

Arithmetic that rounds gives the exact results of a network whose numbers are each slightly off. So the network is run
in fp64 with every weight moved by about one unit in the last place of the format, which shows how sensitive these very
results are: sharp attention and large weights make them more so. A sum of n numbers rounds n times, which moves its
result by about the square root of n as much. What a test allows is

    sqrt(n) * max(the most that a result moved, a unit in the last place of the largest result)

where n is the longest chain of additions: the largest dimension of a weight (width, feed-forward, vocabulary), or the
tokens that a row or a gradient adds up. It is the same on every processor, whatever the order of its sums.
`test_rounding.py` has the wrong networks that it does not let pass, and what the engines need of it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

Format = Literal["fp32", "fp64"]
EPS: dict[str, float] = {"fp32": torch.finfo(torch.float32).eps, "fp64": torch.finfo(torch.float64).eps}
JOSTLES = 3

Numbers = Mapping[str, Tensor]


def units(count: float, largest: Any = 1.0, format: Format = "fp32") -> float:
    """So many units in the last place of the largest of these numbers: for formulas of a few operations an element."""
    return count * EPS[format] * max(1.0, _most(torch.as_tensor(largest)))


def jostled(model: nn.Module, seed: int) -> Any:
    """The network in fp64, with every weight moved by about one unit in the last place of fp32."""
    moved, generator = copy.deepcopy(model).double(), torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in moved.parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.mul_(1 + EPS["fp32"] * noise)
    return moved


def distance(exact: Tensor, moved: Tensor, *, longest: int, format: Format = "fp32") -> float:
    """How far, as a vector, rounding in this format may take what is `exact` in fp64 and `moved` with jostled weights.

    Sums have `longest` numbers at most.
    """
    unit = EPS[format]
    return longest**0.5 * max(float((moved - exact).norm()) * unit / EPS["fp32"], unit * float(exact.norm()))


@dataclass(frozen=True)
class Exact:
    """What `compute` finds of a network in fp64, by name, and by how much each result may be off in another format.

    Example:
        exact = Exact(model, lambda model: {"logits": naive_logits(model, tokens)}, tokens=len(tokens))
        exact.require(logits=engine_logits)
    """

    model: nn.Module
    compute: Callable[[Any], Numbers]
    tokens: int  # that one result adds up at most

    @cached_property
    def values(self) -> Numbers:
        return self._computed(None)

    @cached_property
    def _moved(self) -> Mapping[str, float]:
        """The most that a number of each result moves with weights that are off by a unit of fp32."""
        found = [self._computed(seed) for seed in range(JOSTLES)]
        return {name: max(_most(one[name] - value) for one in found) for name, value in self.values.items()}

    def _computed(self, seed: int | None) -> Numbers:
        model = copy.deepcopy(self.model).double() if seed is None else jostled(self.model, seed)
        return {name: value.detach().double() for name, value in self.compute(model).items()}

    def allowed(self, name: str, format: Format = "fp32") -> float:
        longest = max(self.tokens, *(max(parameter.shape) for parameter in self.model.parameters()))
        largest = max(map(_most, self.values.values()))
        moved = self._moved[name] * EPS[format] / EPS["fp32"]
        return longest**0.5 * max(moved, EPS[format] * largest)

    def require(self, *, format: Format = "fp32", **got: Any) -> None:
        """That these results are the exact ones but for rounding in this format."""
        self.require_all(got, format=format)

    def require_all(self, got: Mapping[str, Any], *, format: Format = "fp32") -> None:
        for name, value in got.items():
            found, want = _numbers(value), self.values[name]
            assert found.shape == want.shape, f"{name}: {tuple(found.shape)}, expected {tuple(want.shape)}"
            off, allowed = _most(found - want), self.allowed(name, format)
            assert off <= allowed, f"{name} is off by {off:.3g}; rounding in {format} explains {allowed:.3g}"


def _numbers(value: Any) -> Tensor:
    return (value.detach() if isinstance(value, Tensor) else torch.as_tensor(np.asarray(value))).double()


def _most(numbers: Tensor) -> float:
    return float(numbers.detach().abs().max()) if numbers.numel() else 0.0
