"""Which rows train."""

from assay.curate.parts import (
    FirstGroups,
    MixedGroups,
    WithoutTag,
    first_groups,
    groups,
    leave_out,
    measure,
    mixed_groups,
    spread,
    without_tag,
)
from assay.curate.recompose import Recompose, recompose
from assay.curate.resample import ResampleOnCorrect, resample_on_correct
from assay.part import Registry

CURATORS: Registry = {
    "mixed-groups": (MixedGroups, mixed_groups),
    "first-groups": (FirstGroups, first_groups),
    "without-tag": (WithoutTag, without_tag),
    "recompose": (Recompose, recompose),
    "resample-on-correct": (ResampleOnCorrect, resample_on_correct),
}

__all__ = [
    "CURATORS",
    "FirstGroups",
    "MixedGroups",
    "Recompose",
    "ResampleOnCorrect",
    "WithoutTag",
    "groups",
    "leave_out",
    "measure",
    "spread",
]
