"""Every recipe learns a task of letters in a second, and unlearns it with the sign of its advantages turned."""

from __future__ import annotations

import dataclasses

import numpy as np
import preferred
import pytest
from learning import STEPS, beginner, by, learns, rise, skilled, small
from learning_draws import shown
from tiny import ALONE, POOL, Letters, register, run

from assay.engine.interface import Span
from assay.known import RECIPES
from assay.rng import Key
from assay.types import by_group
from assay.verifiers.elections import answer_of, shares

pytestmark = [pytest.mark.slow, pytest.mark.learning]


@pytest.fixture(autouse=True)
def task(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, ALONE)


@pytest.mark.parametrize("name", [name for name in by("reward") if learns(name).rises])
def test_reward_rises(name: str) -> None:
    notes, memory = run(small(name), beginner())
    shown("rise", rise(notes.accuracy()), above=0.2)
    assert memory.step == learns(name).count


@pytest.mark.parametrize("name", [name for name in by("reward") if learns(name).falls])
def test_reward_falls_with_the_sign_turned(name: str) -> None:
    engine, about, recipe = skilled(), learns(name), small(name, learning_rate=0.01)
    mechanism = dataclasses.replace(recipe.mechanism, **dict.fromkeys(about.bare, ()))
    notes, _ = run(dataclasses.replace(recipe, mechanism=mechanism), engine, flipped=True)
    accuracy = notes.accuracy()
    found = preferred.accuracy(engine) - accuracy[0] if about.afterwards else rise(accuracy)
    shown("rise with the sign turned", found, below=-0.1 if about.afterwards else -0.25)


@pytest.mark.parametrize("name", by("reward of its own"))
def test_what_is_rewarded_without_labels_rises(name: str) -> None:
    notes, memory = run(small(name), beginner())
    rewards = [[e.reward for e in step if e.reward is not None] for step in notes.episodes]
    found = rise(np.array([np.mean(step) if step else 0.0 for step in rewards]))
    shown("rise of the reward", found, above=learns(name).least)
    assert memory.step == learns(name).count


@pytest.mark.parametrize("name", by("agreement"))
def test_answers_come_to_agree(name: str) -> None:
    """The largest share of a group that says the same. The logarithm is 0 where all differ, and falls at first."""
    notes, _ = run(small(name, num_steps=64, learning_rate=0.007), beginner())
    groups = [[[answer_of(e) for e in group.members] for group in by_group(step).values()] for step in notes.episodes]
    found = rise(np.array([np.mean([max(shares(group)) for group in step]) for step in groups]))
    shown("rise of the agreement", found, above=0.3)


@pytest.mark.parametrize("name", by("stages"))
@pytest.mark.parametrize("flipped", [False, True])
def test_the_solver_learns_in_stages_and_beside_another_player(name: str, flipped: bool) -> None:
    """Of what the solver answers alone, from the step on in which it begins to. Of a recipe that exploits its
    preference model the reward, from the step on in which that model is fixed.
    """
    engine, count = skilled() if flipped else beginner(), learns(name).count
    notes, memory = run(small(name, learning_rate=0.01 if flipped else 0.014), engine, flipped=flipped)
    assert memory.step == count and memory.stage == len(RECIPES[name].stages) - 1
    answers = [[e for e in step if e.request.role == "policy"] for step in notes.episodes]
    if learns(name).exploits and not flipped:
        scored = [[e.reward or 0.0 for e in step] for step in answers[count // 5 + 1 :]]
        shown("rise of the reward", rise(np.array([np.mean(step) for step in scored])), above=0.5)
        return
    found = rise(np.array([np.mean([e.right for e in step]) for step in answers if step]))
    shown("rise with the sign turned" if flipped else "rise", found, **({"below": -0.2} if flipped else {"above": 0.2}))


@pytest.mark.parametrize("name", by("likelihood"))
@pytest.mark.parametrize("flipped", [False, True])
def test_likelihood_of_solutions_rises_and_falls_with_the_sign_turned(name: str, flipped: bool) -> None:
    engine, codec = beginner(), Letters()
    problem = POOL.problem(Key("any"))
    span = Span(codec.render(problem.prompt), np.append(codec.encode(problem.solution or ""), np.int32(0)))

    def likelihood() -> float:
        return float(engine.score([span])[0].logp.sum())

    before = likelihood()
    notes, memory = run(small(name), engine, flipped=flipped)
    bound = {"below": -1.0} if flipped else {"above": 1.0}
    shown("rise of the log-probability", likelihood() - before, **bound)
    assert memory.budget.generated_tokens == 0
    assert (notes.accuracy() == 1.0).all()  # worked solutions are right


@pytest.mark.parametrize("name", by("last stage"))
@pytest.mark.parametrize("flipped", [False, True])
def test_imitation_prepares_for_the_reward(name: str, flipped: bool) -> None:
    """The answers of the last stage are the policy's own: nearly all right, or with the sign turned nearly none."""
    notes, memory = run(small(name), skilled() if flipped else beginner(), flipped=flipped)
    own = [step for step in notes.episodes if step[0].provenance == "fresh"]
    assert 0 < len(own) < STEPS / 4 and memory.stage == 1
    share = np.mean([episode.right for step in own for episode in step])
    shown("right answers at last", float(share), **({"below": 0.1} if flipped else {"above": 0.6}))
