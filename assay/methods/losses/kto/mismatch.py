"""Answers paired with the question of another group."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from assay.curate.grouping import MISMATCHED
from assay.part import Curator
from assay.types import Row, by_group


def mismatch(rows: Sequence[Row]) -> list[Row]:
    """Adds the answers of each group under the question of the next group with another question, if there is one."""
    members = [[row for row in group.members if row.in_loss] for group in by_group(rows).values()]
    members = [group for group in members if group]
    result = list(rows)
    for place, group in enumerate(members):
        others = [*members[place + 1 :], *members[:place]]
        own = group[0].episode.request.problem.id
        asked = next((o[0].episode for o in others if o[0].episode.request.problem.id != own), None)
        if asked is None:
            continue
        for row in group:
            episode = dataclasses.replace(row.episode, context=asked.training_context)
            result.append(row.mark(episode=episode, in_group=False, in_denominator=False, tag=MISMATCHED))
    return result


class Mismatch(Curator):
    """Adds to each answer that trains a copy under another question; copies are scored and do not train (KTO
    2402.01306).

        curate=(Mismatch(),)
        --mechanism.curate mismatch
    """

    writes = ("rows", "group")
    does = mismatch
