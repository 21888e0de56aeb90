"""The metrics of agreement, counted by hand."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import episode

from assay.forwards.agreement import agreement, ranked
from assay.types import Reward, Row, Verdict


def row(text: str, *, right: bool, reward: float, group: str, sample: int) -> Row:
    made = episode([1], group=group, sample=sample, right=right)
    return Row(dataclasses.replace(made, text=text, rewards=(Reward("r", reward),)))


def test_by_hand() -> None:
    """Group g: pairs (3, 1), (3, 3) of right and wrong; h has no right answer, and elects a wrong one."""
    rows = [
        row("7", right=True, reward=3.0, group="g", sample=0),
        row("8", right=False, reward=1.0, group="g", sample=1),
        row("9", right=False, reward=3.0, group="g", sample=2),
        row("7", right=True, reward=3.0, group="g", sample=3),
        row("1", right=False, reward=0.0, group="h", sample=0),
        row("1", right=False, reward=1.0, group="h", sample=1),
    ]
    found, stats = agreement(rows, role="")
    assert found == rows
    assert stats == {
        "reward/auroc": (2 + 2 * 0.5) / 4,
        "vote/share": (2 / 4 + 1) / 2,
        "vote/label_accuracy": 1 / 2,
        "vote/reward_accuracy": (1 + 1 + 1 + 1 + 0 + 0) / 6,
    }


def test_one_role_alone_may_be_looked_at() -> None:
    rows = [row("7", right=True, reward=1.0, group="g", sample=i) for i in range(2)]
    assert agreement(rows, role="proposer")[1] == {} and agreement(rows, role="policy")[1]["vote/share"] == 1.0


def test_what_has_no_verdict_or_no_reward_does_not_count() -> None:
    lost = dataclasses.replace(episode([1]), verdict=Verdict.invalid("bug"))
    silent = dataclasses.replace(episode([1], sample=1), rewards=())
    assert agreement([Row(lost), Row(silent)], role="")[1] == {}


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=9))
def test_the_area_is_a_half_for_a_constant_and_turns_with_the_sign(
    pairs: list[tuple[int, bool]],
) -> None:
    reward, right = np.array([r for r, _ in pairs], float), np.array([t for _, t in pairs], bool)
    won, count = ranked(reward, right)
    assert won + ranked(-reward, right)[0] == pytest.approx(count)
    assert ranked(0 * reward, right)[0] == pytest.approx(count / 2)
