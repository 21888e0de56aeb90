"""Kimi's reward for being short beside the other answers of a group."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paid import earned, of_lengths, with_replies
from tiny import policy, recipe_of, register, run

from assay.methods.shaping.len_kimi.reward import Shortness


def test_shortness_by_hand() -> None:
    """Lengths 2, 4, 6 of one group: 1/2, 0, -1/2; what is wrong keeps only what is negative."""
    right = of_lengths((2, True), (4, True), (6, True))
    wrong = of_lengths((2, False), (4, False), (6, False), (10, True), group="h")
    assert earned(Shortness(weight=2.0), right) == [1.0, 0.0, -1.0]
    assert earned(Shortness(), right + wrong)[3:] == pytest.approx([0.0, 0.0, 0.0, -0.5])
    assert earned(Shortness(), of_lengths((9, False), (1, True), group="w")) == pytest.approx([-0.5, 0.5])
    assert earned(Shortness(), of_lengths((3, True), (3, False))) == [0.0, 0.0]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=1, max_size=6), st.integers(1, 5))
def test_shortness_does_not_see_by_how_much_all_are_longer(spec: list[tuple[int, bool]], more: int) -> None:
    found = earned(Shortness(), of_lengths(*spec))
    assert found == pytest.approx(earned(Shortness(), of_lengths(*[(n + more, r) for n, r in spec])))
    assert all(-0.5 <= f <= 0.5 and (right or f <= 0) for f, (_, right) in zip(found, spec, strict=True))


def test_what_tools_reply_is_not_short_or_long() -> None:
    assert earned(Shortness(), with_replies()) == [0.5, 0.0, -0.5]


@pytest.mark.slow
def test_answers_get_shorter_where_short_is_paid(monkeypatch: pytest.MonkeyPatch) -> None:
    """All answers with the letter are right; the reward for being short takes the tail off."""
    register(monkeypatch)
    sized = {"num_prompts": 8, "group_size": 8, "num_steps": 16, "learning_rate": 0.02, "warmup_steps": 0}
    recipe = recipe_of("len-kimi", max_new=6, **sized)
    notes, _ = run(recipe, policy("fp32", vocab=4, hidden=16, ffn=16, init_std=0.1))
    lengths = [np.mean([len(e) for e in step if e.right]) for step in notes.episodes]
    assert np.mean(lengths[-4:]) < np.mean(lengths[2:6]) - 0.3
    assert {r.name for e in notes.episodes[-1] for r in e.rewards} == {"outcome", "shortness"}
    assert {r.name for e in notes.episodes[0] for r in e.rewards} == {"outcome"}
