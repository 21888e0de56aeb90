"""Training on right answers alone, or on wrong ones alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from assay.curate.parts import leave_out
from assay.errors import ConfigError
from assay.part import Curator
from assay.types import Row


def one_sided(rows: Sequence[Row], *, keep: str) -> list[Row]:
    """Leaves the answers of the other kind out of loss and denominator."""
    if keep not in ("right", "wrong"):
        raise ConfigError(f"curate.keep is 'right' or 'wrong', not '{keep}'.")
    return leave_out(rows, {i for i, row in enumerate(rows) if row.right != (keep == "right")})


class OneSided(Curator):
    """Only right answers train, or only wrong ones; the others leave the denominator too.

    curate=(OneSided(keep="right"),)
    --mechanism.curate one-sided --mechanism.curate.0.keep right
    """

    keep: Literal["right", "wrong"] = "right"  # which answers train
    does = one_sided
    needs_verdict = True
