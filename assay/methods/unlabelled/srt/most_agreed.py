"""Only the groups with the largest majorities train."""

from __future__ import annotations

from collections.abc import Sequence

from assay.curate.parts import alive_groups, leave_out
from assay.part import Curator, Proportion
from assay.types import Row
from assay.verifiers.elections import answer_of, top_share


def most_agreed(rows: Sequence[Row], *, share: float) -> list[Row]:
    """Keeps this share of the groups, at least one: the groups with the largest majorities, the first of equal ones.
    The others are left out.
    """
    alive = alive_groups(rows)
    size = {i: top_share([answer_of(row.episode) for row in group.members]) for i, group in enumerate(alive)}
    kept = sorted(size, key=lambda i: (-size[i], i))[: max(1, round(share * len(alive)))]
    return leave_out(rows, {j for i, group in enumerate(alive) if i not in kept for j in group.places})


class MostAgreed(Curator):
    """Keeps a share of the groups of a step: the groups whose most frequent answer is given most often. As far as one
    can know without labels, these are the easiest (SRT 2505.21444).

        curate=(MostAgreed(share=0.33),)
        --mechanism.curate most-agreed --mechanism.curate.0.share 0.33
    """

    share: Proportion = 1.0  # of the groups of a step
    does = most_agreed
