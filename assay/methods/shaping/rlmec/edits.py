"""The least number of edits from one text to another, and which tokens of the second were edited."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.part import Curator
from assay.types import Ids, Row

REWRITTEN = "rewritten"  # the tag of rows that show the policy a rewritten answer of its own


def edits(before: Ids, after: Ids) -> np.ndarray:
    """Levenshtein's distances [n + 1, m + 1] of all beginnings: an insertion, a deletion or a substitution costs 1."""
    width = np.arange(len(after) + 1)
    table = np.zeros((len(before) + 1, len(after) + 1), np.int32)
    table[0] = width
    for i, token in enumerate(before, start=1):
        best = np.append(i, np.minimum(table[i - 1, 1:] + 1, table[i - 1, :-1] + (after != token)))
        table[i] = np.minimum.accumulate(best - width) + width  # then any number of insertions
    return table


def distance(before: Ids, after: Ids) -> int:
    """The least number of edits that turn one text into the other."""
    return int(edits(before, after)[-1, -1])


def edited(before: Ids, after: Ids) -> np.ndarray:
    """bool[m]: the tokens of `after` that were inserted or substituted, in one shortest sequence of edits. Equal tokens
    at the end of both texts stand for each other, and a deletion comes before an insertion where both are shortest.
    """
    table, changed = edits(before, after), np.ones(len(after), bool)
    i, j = len(before), len(after)
    while i > 0 and j > 0:
        here = table[i, j]
        if before[i - 1] == after[j - 1]:  # as D(i, j) = D(i-1, j-1) then
            i, j = i - 1, j - 1
            changed[j] = False
        elif table[i - 1, j] + 1 == here:
            i -= 1
        elif table[i, j - 1] + 1 == here:
            j -= 1
        else:
            i, j = i - 1, j - 1
    return changed


def weigh_edits(rows: Sequence[Row], *, same: float) -> list[Row]:
    """w_t = 1 on the tokens of a rewritten answer that were edited, `same` on the others, as weights of `likelihood`.

    These rows have no policy gradient, and are no part of its denominator. A rewritten answer is left out if the answer
    as it was is not among the rows, because the two were set aside for different steps.
    """
    answers = {row.episode.request.id: row.episode for row in rows}
    result = []
    for row in rows:
        request = row.episode.request
        if request.tag != REWRITTEN:
            result.append(row)
            continue
        row = row.mark(in_group=False, in_denominator=False)
        if (before := answers.get(request.parent)) is None:
            result.append(row.mark(in_loss=False))
            continue
        weights = np.where(edited(before.stream("ids"), row.episode.stream("ids")), 1.0, same)
        result.append(row.mark(term_weights={"likelihood": weights}))
    return result


class WeighEdits(Curator):
    """The edited tokens of a rewritten answer are imitated fully, and the others less (RLMEC 2401.06081).

    curate=(WeighEdits(same=0.5),)
    --mechanism.curate weigh-edits --mechanism.curate.0.same 0.5
    """

    writes = ("rows", "group")

    same: float = 0.5  # the weight of tokens that stand in the answer as it was
    does = weigh_edits
