"""Which rows train."""

from assay.curate.anchors import OnAnchor, on_anchor
from assay.curate.experts import Nobody, SwitchToExpert, nobody, switch_to_expert
from assay.curate.labels import LabelSteps, label_steps
from assay.curate.lengths import (
    Filtered,
    FilteredByDifficulty,
    WholeAnswers,
    filtered,
    filtered_by_difficulty,
    whole_answers,
)
from assay.curate.pairs import Mismatch, Pairs, TrainAt, mismatch, pairs, train_at
from assay.curate.parts import (
    Aside,
    Band,
    BandFirst,
    FirstGroups,
    MixedGroups,
    WithoutTag,
    aside,
    band,
    band_first,
    first_groups,
    leave_out,
    mixed_groups,
    without_tag,
)
from assay.curate.players import Helpful, Unpaid, Untrained, helpful, unpaid, untrained
from assay.curate.recompose import Recompose, recompose
from assay.curate.replace import MakeRoom, make_room
from assay.curate.resample import ResampleOnCorrect, resample_on_correct
from assay.curate.solved import OneSided, SolvedGroups, UnsolvedGroups, one_sided, solved_groups, unsolved_groups
from assay.curate.surplus import TakeTurns, take_turns
from assay.curate.trees import BackedUp, DrawLeaves, OwnTokens, backed_up, draw_leaves, own_tokens
from assay.part import Registry

CURATORS: Registry = {
    "mixed-groups": (MixedGroups, mixed_groups),
    "first-groups": (FirstGroups, first_groups),
    "take-turns": (TakeTurns, take_turns),
    "make-room": (MakeRoom, make_room),
    "solved-groups": (SolvedGroups, solved_groups),
    "unsolved-groups": (UnsolvedGroups, unsolved_groups),
    "one-sided": (OneSided, one_sided),
    "whole-answers": (WholeAnswers, whole_answers),
    "filtered": (Filtered, filtered),
    "filtered-by-difficulty": (FilteredByDifficulty, filtered_by_difficulty),
    "own-tokens": (OwnTokens, own_tokens),
    "draw-leaves": (DrawLeaves, draw_leaves),
    "backed-up": (BackedUp, backed_up),
    "without-tag": (WithoutTag, without_tag),
    "recompose": (Recompose, recompose),
    "resample-on-correct": (ResampleOnCorrect, resample_on_correct),
    "aside": (Aside, aside),
    "band": (Band, band),
    "band-first": (BandFirst, band_first),
    "switch-to-expert": (SwitchToExpert, switch_to_expert),
    "on-anchor": (OnAnchor, on_anchor),
    "nobody": (Nobody, nobody),
    "unpaid": (Unpaid, unpaid),
    "untrained": (Untrained, untrained),
    "helpful": (Helpful, helpful),
    "pairs": (Pairs, pairs),
    "mismatch": (Mismatch, mismatch),
    "train-at": (TrainAt, train_at),
    "label-steps": (LabelSteps, label_steps),
}

__all__ = [
    "CURATORS",
    "Aside",
    "BackedUp",
    "Band",
    "BandFirst",
    "DrawLeaves",
    "Filtered",
    "FilteredByDifficulty",
    "FirstGroups",
    "Helpful",
    "LabelSteps",
    "MakeRoom",
    "Mismatch",
    "MixedGroups",
    "Nobody",
    "OnAnchor",
    "OneSided",
    "OwnTokens",
    "Pairs",
    "Recompose",
    "ResampleOnCorrect",
    "SolvedGroups",
    "SwitchToExpert",
    "TakeTurns",
    "TrainAt",
    "Unpaid",
    "UnsolvedGroups",
    "Untrained",
    "WholeAnswers",
    "WithoutTag",
    "leave_out",
]
