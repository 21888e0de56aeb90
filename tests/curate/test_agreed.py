"""Groups by how much their answers agree."""

from __future__ import annotations

import pytest
from voting import answered, kept, rows_of

from assay.curate.agreed import agreed

ALL = answered("a", "a", "a", "a", group="all")
HALF = answered("a", "b", "a", "b", group="half")
NONE = answered("a", "b", "c", "", group="none")
CUT = answered("", "", "", "", group="cut")


@pytest.mark.parametrize(
    ("by", "low", "high", "groups"),
    [
        ("share", 0.0, 1.0, "ahnc"),
        ("share", 0.3, 0.9, "h"),
        ("share", 0.2, 0.5, "hn"),
        ("entropy", 0.1, 1.0, "h"),  # log 2 = 0.69, log 4 = 1.39
        ("entropy", 0.0, 0.0, "a"),
        ("entropy", 1.0, 1.4, "nc"),
    ],
)
def test_a_band_by_hand(by: str, low: float, high: float, groups: str) -> None:
    rows = rows_of(ALL, HALF, NONE, CUT)
    expected = [i for place, name in enumerate("ahnc") if name in groups for i in range(4 * place, 4 * place + 4)]
    assert kept(agreed(rows, by=by, low=low, high=high, role="")) == expected


def test_rows_out_of_the_group_do_not_vote() -> None:
    rows = [row.mark(in_group=row.episode.text == "a") for row in rows_of(HALF)]
    assert kept(agreed(rows, by="share", low=0.9, high=1.0, role="")) == [0, 2]
