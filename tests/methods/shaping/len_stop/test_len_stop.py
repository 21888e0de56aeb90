"""The stop-properly penalty."""

from __future__ import annotations

from paid import earned
from tiny import episode

from assay.methods.shaping.len_stop.reward import StopProperly


def test_stopping_properly() -> None:
    answers = [
        episode([1], reward=1.0, right=right, finish=finish)  # type: ignore[arg-type]
        for right in (True, False)
        for finish in ("stop", "length")
    ]
    assert earned(StopProperly(right=2.0, wrong=-1.0, cut=0.25), answers) == [2.0, 0.5, -1.0, -0.25]
    assert earned(StopProperly(right=2.0, wrong=-1.0, cut=-0.5), answers) == [2.0, -0.5, -1.0, -0.5]


def test_more_than_the_whole_reward_for_a_cut_answer_is_refused() -> None:
    assert StopProperly(cut=1.0).refusal() is StopProperly(cut=-2.0).refusal() is None
    assert "not 1.5" in str(StopProperly(cut=1.5).refusal())
