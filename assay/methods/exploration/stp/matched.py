"""Which conjectures resemble the statements that are to be proved: each target is matched with one of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np


def runs(text: str) -> Counter[str]:
    """How often each run of three characters stands in a text."""
    return Counter(text[i : i + 3] for i in range(max(1, len(text) - 2)))


def cosines(first: Sequence[str], second: Sequence[str]) -> np.ndarray:
    """[first, second] cosines of the counts of runs."""
    counts = [runs(text) for text in (*first, *second)]
    places = {run: i for i, run in enumerate(dict.fromkeys(run for count in counts for run in count))}
    table = np.zeros((len(counts), len(places)))
    for row, count in zip(table, counts, strict=True):
        for run, number in count.items():
            row[places[run]] = number
    table /= np.linalg.norm(table, axis=1, keepdims=True)
    return table[: len(first)] @ table[len(first) :].T


def matches(conjectures: Sequence[str], targets: Sequence[str], *, most: int) -> list[int]:
    """The place of the conjecture that each target is matched with, for as many targets as there is room: pairs are
    made in the order of their cosines, and a conjecture is in at most `most`.
    """
    if not conjectures or not targets:
        return []
    alike = cosines(conjectures, targets)
    room, found = np.full(len(conjectures), most), dict[int, int]()
    for pair in np.argsort(-alike, axis=None, kind="stable").tolist():
        i, target = divmod(pair, len(targets))
        if room[i] and target not in found:
            found[target] = i
            room[i] -= 1
    return [found[target] for target in sorted(found)]
