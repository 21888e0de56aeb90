"""Which rows train."""

from assay.curate.pairs import Mismatch, Pairs, TrainAt, mismatch, pairs, train_at
from assay.curate.parts import (
    Band,
    FirstGroups,
    MixedGroups,
    WithoutTag,
    band,
    first_groups,
    groups,
    leave_out,
    measure,
    mixed_groups,
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
    "unpaid": (Unpaid, unpaid),
    "untrained": (Untrained, untrained),
    "helpful": (Helpful, helpful),
    "pairs": (Pairs, pairs),
    "mismatch": (Mismatch, mismatch),
    "train-at": (TrainAt, train_at),
}

__all__ = [
    "CURATORS",
    "BackedUp",
    "Band",
    "DrawLeaves",
    "FirstGroups",
    "Helpful",
    "MakeRoom",
    "Mismatch",
    "MixedGroups",
    "OwnTokens",
    "Pairs",
    "Recompose",
    "ResampleOnCorrect",
    "SolvedGroups",
    "TrainAt",
    "Unpaid",
    "Untrained",
    "WithoutTag",
    "groups",
    "leave_out",
    "measure",
    "spread",
]
