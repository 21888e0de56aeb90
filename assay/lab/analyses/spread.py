"""How unlike the answers to a problem are: kinds among some of them, and edit distances."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from assay.rng import Key
    from assay.scoring.samples import SampleBank

PAIRS = 32  # pairs of answers to a problem whose distance is taken
LENGTH = 256  # tokens of an answer that are compared


def rarefied(counts: Sequence[int], m: int) -> float:
    """The expected number of kinds among m of N samples that are drawn without putting them back, where the kinds have
    these counts: sum over kinds of 1 - C(N - count, m) / C(N, m).
    """
    total = sum(counts)
    return sum(1.0 - math.comb(total - count, m) / math.comb(total, m) for count in counts)


def edits(first: Sequence[Sequence[int]], other: Sequence[Sequence[int]]) -> np.ndarray:
    """int[P]: the fewest insertions, deletions and replacements of tokens that make each first of the other beside it
    (Levenshtein). The pairs are reckoned together, a row of their tables at a time.
    """
    rows, columns = (np.array([len(sequence) for sequence in side]) for side in (first, other))
    high, wide = int(rows.max(initial=0)), int(columns.max(initial=0))
    left, right = _padded(first, high, -1), _padded(other, wide, -2)
    across = np.arange(wide + 1)
    table = np.broadcast_to(across, (len(rows), wide + 1)).copy()
    costs = np.where(rows == 0, columns, 0)
    for i in range(high):
        replaced = table[:, :-1] + (left[:, i, None] != right)
        best = np.minimum(table[:, 1:] + 1, replaced)
        table = np.concatenate([np.full((len(rows), 1), i + 1), best], axis=1)
        table = np.minimum.accumulate(table - across, axis=1) + across  # insertions: one more for each step right
        ends = np.flatnonzero(rows == i + 1)
        costs[ends] = table[ends, columns[ends]]
    return costs


def _padded(side: Sequence[Sequence[int]], length: int, empty: int) -> np.ndarray:
    table = np.full((len(side), length), empty, dtype=np.int64)
    for i, one in enumerate(side):
        table[i, : len(one)] = one
    return table


def unlike(bank: SampleBank, key: Key) -> np.ndarray:
    """float[M]: the mean over pairs of answers to a problem of their edit distance over the length of the longer one,
    in tokens, of which the first `LENGTH` count. No answer is in two pairs. NaN for a problem with one answer.
    """
    answers: dict[str, list[list[int]]] = {name: [] for name in bank.asked.problems}
    columns = bank.table.select(["problem", "ids", "status"]).to_pydict()
    for name, ids, status in zip(columns["problem"], columns["ids"], columns["status"], strict=True):
        if status != "invalid":
            answers[name].append(ids[:LENGTH])
    means = []
    for name, told in answers.items():
        order = key(name).generator().permutation(len(told))
        pairs = [(told[a], told[b]) for a, b in zip(order[::2], order[1::2], strict=False)][:PAIRS]
        if not pairs:
            means.append(math.nan)
            continue
        longer = np.array([max(len(a), len(b), 1) for a, b in pairs])
        means.append(float((edits([a for a, _ in pairs], [b for _, b in pairs]) / longer).mean()))
    return np.array(means)
