"""The vote among programs for one question, by what a solver says of each."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

DIGITS = 6  # of an optimum, by which votes for it are counted


@dataclass(frozen=True)
class Instance:
    """A solved program: its optimum, its direction, its numbers of binary and of other integer variables.

    Instance(optimum=12.0, maximises=True, binaries=0, integers=2)
    """

    optimum: float
    maximises: bool
    binaries: int
    integers: int


def elected(instances: Sequence[Instance | None]) -> int | None:
    """The index of the program of the highest score S, the first of several; None if no program was solved.

    S(r) = psi(O_r) + psi(D_r) + psi(B_r) + psi(I_r), with psi(X_r) the square root of the number of programs that agree
    with r in X: the optimum, the direction, the numbers of binary and of integer variables (SIRL 2505.11792).
    """
    solved = {i: _attributes(one) for i, one in enumerate(instances) if one is not None}
    counts = [Counter(attributes[place] for attributes in solved.values()) for place in range(4)]
    scores = {
        i: sum(math.sqrt(count[value]) for count, value in zip(counts, attributes, strict=True))
        for i, attributes in solved.items()
    }
    return max(scores, key=lambda i: (scores[i], -i)) if scores else None


def _attributes(one: Instance) -> tuple[float, bool, int, int]:
    return round(one.optimum, DIGITS), one.maximises, one.binaries, one.integers
