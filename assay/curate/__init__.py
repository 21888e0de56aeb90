"""Which rows train."""

from assay.curate.anchors import OnAnchor, on_anchor
from assay.curate.experts import Nobody, SwitchToExpert, nobody, switch_to_expert
from assay.curate.parts import (
    Band,
    BandFirst,
    FirstGroups,
    MixedGroups,
    OnlyCompared,
    WithoutTag,
    band,
    band_first,
    first_groups,
    groups,
    leave_out,
    measure,
    mixed_groups,
    only_compared,
    spread,
    without_tag,
)
from assay.curate.players import Helpful, Unpaid, Untrained, helpful, unpaid, untrained
from assay.curate.recompose import Recompose, recompose
from assay.curate.replace import MakeRoom, make_room
from assay.curate.resample import ResampleOnCorrect, resample_on_correct
from assay.curate.solved import SolvedGroups, solved_groups
from assay.curate.trees import BackedUp, DrawLeaves, OwnTokens, backed_up, draw_leaves, own_tokens
from assay.part import Registry

CURATORS: Registry = {
    "mixed-groups": (MixedGroups, mixed_groups),
    "first-groups": (FirstGroups, first_groups),
    "make-room": (MakeRoom, make_room),
    "solved-groups": (SolvedGroups, solved_groups),
    "own-tokens": (OwnTokens, own_tokens),
    "draw-leaves": (DrawLeaves, draw_leaves),
    "backed-up": (BackedUp, backed_up),
    "without-tag": (WithoutTag, without_tag),
    "recompose": (Recompose, recompose),
    "resample-on-correct": (ResampleOnCorrect, resample_on_correct),
    "band": (Band, band),
    "band-first": (BandFirst, band_first),
    "only-compared": (OnlyCompared, only_compared),
    "switch-to-expert": (SwitchToExpert, switch_to_expert),
    "on-anchor": (OnAnchor, on_anchor),
    "nobody": (Nobody, nobody),
    "unpaid": (Unpaid, unpaid),
    "untrained": (Untrained, untrained),
    "helpful": (Helpful, helpful),
}

__all__ = [
    "CURATORS",
    "BackedUp",
    "Band",
    "BandFirst",
    "DrawLeaves",
    "FirstGroups",
    "Helpful",
    "MakeRoom",
    "MixedGroups",
    "Nobody",
    "OnAnchor",
    "OnlyCompared",
    "OwnTokens",
    "Recompose",
    "ResampleOnCorrect",
    "SolvedGroups",
    "SwitchToExpert",
    "Unpaid",
    "Untrained",
    "WithoutTag",
    "groups",
    "leave_out",
    "measure",
    "spread",
]
