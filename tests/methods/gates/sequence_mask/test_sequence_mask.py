"""DeepSeek-V3.2's mask of answers that the policy has left."""

from __future__ import annotations

import dataclasses

from told_views import Told, kept
from trusted import require_reinforce_on_policy

from assay.methods.gates.sequence_mask.followed import Followed
from assay.objective import Objective, SequenceMean


def test_on_policy_sequence_mask_is_reinforce() -> None:
    require_reinforce_on_policy(Objective(keep=(Followed(),), aggregate=SequenceMean()))


def test_answers_that_are_pushed_down_and_left_do_not_train() -> None:
    """Mean falls of log 2: above 0.5 and below 0.7."""
    told = Told([0.1, 0.4], [0.4, 0.4], -1.0)
    assert kept(Followed(most=0.5), told) == [False, False] and kept(Followed(most=0.7), told) == [True, True]
    assert kept(Followed(most=0.5), dataclasses.replace(told, advantage=1.0)) == [True, True]
