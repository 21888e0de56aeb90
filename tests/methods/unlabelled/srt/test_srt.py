"""SRT: votes, and the third of the problems with the largest majorities."""

from __future__ import annotations

from assay.known import RECIPES
from assay.methods.unlabelled.srt.most_agreed import MostAgreed
from assay.reward import GroupVote


def test_the_easy_ones_alone_train_in_one_of_them() -> None:
    plain, easy = RECIPES["srt"].mechanism, RECIPES["srt-easy"].mechanism
    assert plain.reward == easy.reward == (GroupVote(),)
    assert plain.curate == () and easy.curate == (MostAgreed(share=1 / 3),)
