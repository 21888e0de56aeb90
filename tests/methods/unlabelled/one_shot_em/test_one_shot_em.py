"""One-shot entropy minimisation: one question, and steps down the entropy."""

from __future__ import annotations

import pytest
from learning_draws import shown
from tiny import policy, recipe_of, register, run

from assay.known import RECIPES
from assay.objective import Entropy, Shut


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def test_the_gate_is_shut_and_the_entropy_is_the_loss() -> None:
    goal = RECIPES["one-shot-em"].mechanism.objective
    assert isinstance(goal.gate, Shut) and goal.extra == (Entropy(weight=-1.0),)


@pytest.mark.learning
def test_the_entropy_of_the_answers_to_one_question_falls() -> None:
    """Ten steps as in the paper; every step asks the same question, and rewards change nothing."""
    recipe = recipe_of("one-shot-em", max_new=4, num_prompts=1, group_size=32, num_steps=10, learning_rate=0.01)
    engine = policy("fp32", init_std=0.1)
    notes, _ = run(recipe, engine)
    assert len({episode.request.problem.id for step in notes.episodes for episode in step}) == 1
    entropy = [-sum(e.reward or 0.0 for e in step) / len(step) for step in notes.episodes]
    shown("rise of the entropy", entropy[-1] - entropy[0], below=-0.3)
    again, _ = run(recipe, policy("fp32", init_std=0.1), flipped=True)
    turned = [-sum(e.reward or 0.0 for e in step) / len(step) for step in again.episodes]
    assert turned == entropy, "the sign of the advantages is nothing to it"
