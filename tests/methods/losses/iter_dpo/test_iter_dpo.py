"""Iterative DPO: rounds of pairs."""

from __future__ import annotations

import pytest
from preferred import beginner, require_learning
from tiny import ALONE, recipe_of, register, run

from assay.known import RECIPES
from assay.run.configure import to_data


@pytest.fixture
def letters(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, ALONE)


@pytest.mark.slow
def test_a_round_begins_with_the_policy_of_the_round_before(letters: None) -> None:
    recipe = recipe_of("iter-dpo", max_new=3, num_prompts=8, group_size=6, num_steps=8, learning_rate=0.01)
    notes, _ = run(recipe, beginner())
    versions = [{s.version for e in episodes for s in e.segments} for episodes in notes.episodes]
    assert all(len(found) == 1 for found in versions)
    first = [found.pop() for found in versions]
    assert first[0::2] == first[1::2] and first[0] == 0 and sorted(set(first)) == first[0::2]
    assert all(e.request.temperature == 0.8 for episodes in notes.episodes for e in episodes)
    assert all(set(b.temperature.tolist()) <= {1.0} for step in notes.batches for b in step)


@pytest.mark.slow
@pytest.mark.learning
def test_iter_dpo_learns_from_what_a_frozen_policy_wrote(letters: None) -> None:
    require_learning("iter-dpo")


def test_rounds_of_dpo_add_the_likelihood_of_the_winner() -> None:
    assert to_data(RECIPES["iter-dpo"].mechanism.objective.whole) == {"part": "dpo", "beta": 0.1, "likelihood": 1.0}
    assert len(RECIPES["iter-dpo"].stages) == 4 and RECIPES["iter-dpo"].models["reference"].start == "policy"
