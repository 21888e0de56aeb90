"""What the terms beside the policy's have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from assay.part import Part, kept


@dataclass(frozen=True, kw_only=True)
class Term(Part):
    """Where a term acts, and by what it is averaged."""

    over: Part | None = kept(None, slot="over")
    mean: Literal["policy", "own"] = kept("policy")
