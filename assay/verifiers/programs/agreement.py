"""Labels by mutual agreement: outputs are believed if enough solutions agree on all of them at once (2505.21297).

A vote on each input alone would mix solutions that mean different things: no single solution need have given all the
outputs that win. Here a solution votes with its whole set of outputs, and one without an output (it ran out of time,
failed, printed nothing to compare) has no vote.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MOST, HARD = 0.6, 0.4  # the share of solutions that must agree; of a problem that is known to be hard


@dataclass(frozen=True)
class Agreement:
    """The outputs that are believed, and who gave them: `Agreement(("3", "5"), (0, 2))`."""

    outputs: tuple[str, ...]  # one of each input, as the first of the solutions gave it
    solutions: tuple[int, ...]  # the places of the solutions that agree: the right ones


def agreed(outputs: Sequence[Sequence[str | None]], *, share: float = MOST) -> Agreement | None:
    """The set of outputs that at least this share of all solutions gave on every input; None if there is none.

    agreed([["3", "5"], ["3", "4"], ["3", "5"]], share=0.6).solutions  # (0, 2)

    `outputs` has for each solution its output on each input. Outputs are the same if their tokens are. If two sets have
    equally many solutions, neither is believed: the problem has several right outputs, or none.
    """
    sets: dict[tuple[tuple[str, ...], ...], list[int]] = {}
    for number, given in enumerate(outputs):
        whole = tuple(tuple(output.split()) for output in given if output is not None)
        if given and len(whole) == len(given):
            sets.setdefault(whole, []).append(number)
    ranked = sorted(sets.values(), key=len, reverse=True)
    if not ranked or len(ranked[0]) < share * len(outputs) or (len(ranked) > 1 and len(ranked[1]) == len(ranked[0])):
        return None
    first = outputs[ranked[0][0]]
    return Agreement(tuple(output or "" for output in first), tuple(ranked[0]))
