"""Lessons of the experts beside their rewards: the worst learns from the best, and the failed from the solution."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from assay.methods.exploration.meml_grpo.experts import GOLD, expert_of
from assay.part import Curator
from assay.types import Row

MUTUAL = "mutual"


def lessons(rows: Sequence[Row]) -> list[Row]:
    """Adds, for each problem, the right answers of the best expert under the question of the worst, tagged `mutual`.

    Nothing is added if both have the same mean, or if a mean is not known. These copies, and solutions tagged `gold`,
    are in no group statistics and not in the denominator: only their own terms of the loss train them.
    """
    result = [
        row.mark(in_group=False, in_denominator=False) if row.episode.request.tag == GOLD else row for row in rows
    ]
    drawn: dict[str, dict[int, list[Row]]] = {}
    for row in rows:
        expert, tag = expert_of(row.episode.request), row.episode.request.tag
        if expert >= 0 and tag != GOLD and row.in_group:
            drawn.setdefault(row.group.partition("/e")[0], {}).setdefault(expert, []).append(row)
    for experts in drawn.values():
        rates = {expert: sum(row.right for row in members) / len(members) for expert, members in experts.items()}
        best, worst = max(rates, key=lambda e: (rates[e], -e)), min(rates, key=lambda e: (rates[e], e))
        if rates[best] == rates[worst]:
            continue
        asked = experts[worst][0].episode.training_context
        for row in experts[best]:
            if row.right and row.in_loss:
                copy = dataclasses.replace(row.episode, context=asked)
                result.append(row.mark(episode=copy, in_group=False, in_denominator=False, tag=MUTUAL))
    return result


class Lessons(Curator):
    """The right answers of a problem's best expert are also learnt under the instruction of its worst (MEML-GRPO
    2508.09670).
    """

    writes = ("rows", "group")
    does = lessons
    needs_verdict = True
