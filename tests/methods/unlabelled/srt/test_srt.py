"""SRT: votes, and the third of the problems with the largest majorities."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from voting import answered, rows_of

from assay.known import RECIPES
from assay.methods.unlabelled.srt.most_agreed import MostAgreed, most_agreed
from assay.reward import GroupVote

ALL = answered("a", "a", "a", "a", group="all")
HALF = answered("a", "b", "a", "b", group="half")
NONE = answered("a", "b", "c", "", group="none")


def test_the_easy_ones_alone_train_in_one_of_them() -> None:
    plain, easy = RECIPES["srt"].mechanism, RECIPES["srt-easy"].mechanism
    assert plain.reward == easy.reward == (GroupVote(),)
    assert plain.curate == () and easy.curate == (MostAgreed(share=1 / 3),)


@given(st.permutations(["all", "half", "none"]), st.sampled_from([0.01, 0.34, 0.67, 1.0]))
def test_the_groups_of_large_majorities_are_kept(order: list[str], part: float) -> None:
    made = {"all": ALL, "half": HALF, "none": NONE}
    found = most_agreed(rows_of(*(made[name] for name in order)), share=part)
    count = max(1, round(part * 3))
    assert {row.group for row in found if row.in_loss} == set(["all", "half", "none"][:count])
