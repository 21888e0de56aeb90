"""Groups of answers by their texts; an empty text is an answer that was cut."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from tiny import episode

from assay.types import Episode, Row


def answered(*texts: str, group: str = "g", right: str = "", lengths: Sequence[int] = ()) -> list[Episode]:
    """Answers of these texts; those that say `right` are right."""
    made = []
    for i, text in enumerate(texts):
        own = episode([1] * (lengths[i] if lengths else 1), group=group, sample=i, right=bool(text) and text == right)
        made.append(dataclasses.replace(own, text=text, finish="stop" if text else "length"))
    return made


def rows_of(*groups: Sequence[Episode]) -> list[Row]:
    return [Row(one) for group in groups for one in group]


def kept(rows: Sequence[Row]) -> list[int]:
    return [i for i, row in enumerate(rows) if row.in_loss and row.in_group and row.in_denominator]
