"""Ratings of most likelihood, weights of places, and rounds in which judgements train."""

from __future__ import annotations

import dataclasses

import judged
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from judged import NAME, POOL, RULED, Signs, answer, comparison, judgement, taught
from tiny import recipe_of, require_resumable, run

from assay.methods.judges.meta_rewarding.elo import RatedBy, ratings, weights
from assay.part import bind
from assay.recipe import Recipe
from assay.reward import Outcome


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    judged.register(monkeypatch, RULED)


def root(wins: float, losses: float, prior: float) -> float:
    """e of the first of two: wins (1 - s(2 e)) - losses s(2 e) = prior e, by bisection."""
    low, high = -50.0, 50.0
    for _ in range(200):
        middle = (low + high) / 2
        chance = 1 / (1 + np.exp(-2 * middle))
        low, high = (middle, high) if wins * (1 - chance) - losses * chance - prior * middle > 0 else (low, middle)
    return low


@pytest.mark.parametrize(("wins", "losses"), [(3, 1), (2, 2), (4, 0), (0, 1)])
def test_ratings_of_two_by_hand(wins: float, losses: float) -> None:
    found = ratings(np.array([[0, wins], [losses, 0.0]]), prior=0.01)
    wanted = root(wins, losses, 0.01)
    np.testing.assert_allclose(found, [wanted, -wanted], atol=1e-9)


def test_without_a_prior_to_speak_of_the_odds_are_those_of_the_wins() -> None:
    first, second = ratings(np.array([[0, 3.0], [1.0, 0]]), prior=1e-9)
    assert first - second == pytest.approx(np.log(3.0), abs=1e-6)


def slope(wins: np.ndarray, found: np.ndarray, prior: float) -> list[float]:
    """Of the likelihood at these ratings, less the prior."""
    places = range(len(wins))
    return [sum(wins[i, j] / (1 + np.exp(found[i] - found[j])) - wins[j, i] / (1 + np.exp(found[j] - found[i]))
                for j in places) - prior * found[i] for i in places]  # fmt: skip


@given(st.lists(st.integers(0, 4), min_size=9, max_size=9))
def test_ratings_sum_to_nothing_and_turn_with_the_wins(drawn: list[int]) -> None:
    wins = np.array(drawn, float).reshape(3, 3) * (1 - np.eye(3))
    found = ratings(wins, prior=0.1)
    assert abs(found.sum()) < 1e-8
    np.testing.assert_allclose(ratings(wins.T, prior=0.1), -found, atol=1e-8)
    np.testing.assert_allclose(slope(wins, found, 0.1), 0, atol=1e-8)


def test_ratings_are_found_where_full_steps_never_arrive() -> None:
    """The first beats the last of a chain of three; the fifth was never compared."""
    wins = np.array([[0, 0.01, 0, 10, 0], [0, 0, 100, 0, 0], [0, 0, 0, 100, 0], [0] * 5, [0] * 5])
    found = ratings(wins, prior=1e-4)
    np.testing.assert_allclose(slope(wins, found, 1e-4), 0, atol=1e-8)
    assert found[4] == 0


def test_a_place_that_wins_more_often_counts_less() -> None:
    assert weights(0.75) == {1: 0.5, 2: 1.5} and weights(0.5) == {1: 1.0, 2: 1.0}


def test_ratings_of_judgements_by_hand() -> None:
    """Four votes, three for the first place: wins there weigh 1/2, the win at the second 3/2."""
    one = answer("b")
    x, y, z = (judgement(one, text, sample=i) for i, text in enumerate(["1", "0", "2"]))
    votes = [(x, y, "1"), (y, x, "2"), (x, z, "1"), (z, x, "1")]
    said = [comparison(a, b, text, role="meta", sample=i) for i, (a, b, text) in enumerate(votes)]
    lone = judgement(answer("a", sample=1), "0")
    found = bind(RatedBy(prior=0.01))([x, y, z, lone], everyone=[one, x, y, z, lone, *said])
    wins = np.array([[0, 0.5 + 1.5, 0.5], [0, 0, 0], [0.5, 0, 0]])
    np.testing.assert_allclose([r.value for r in found[:3]], ratings(wins, prior=0.01), atol=1e-9)
    assert found[3].value == 0.0 and found[0].value > found[2].value > found[1].value


def test_judgements_of_different_answers_are_not_rated_against_each_other() -> None:
    """Half of the votes are for the first place, so all weigh 1; x beats y twice."""
    one = answer("b")
    x, y = (judgement(one, text, sample=i) for i, text in enumerate(["1", "0"]))
    lone = judgement(answer("a", sample=1), "0")
    votes = [(x, y, "1"), (y, x, "2"), (x, lone, "1"), (lone, x, "2")]
    said = [comparison(a, b, text, role="meta", sample=i) for i, (a, b, text) in enumerate(votes)]
    found = bind(RatedBy(prior=0.01))([x, y, lone], everyone=[one, x, y, lone, *said])
    wanted = root(2, 0, 0.01)
    np.testing.assert_allclose([r.value for r in found], [wanted, -wanted, 0], atol=1e-9)


def small(**changes: object) -> Recipe:
    values = {"num_prompts": 2, "group_size": 3, "num_steps": 4, "warmup_steps": 0, "learning_rate": 0.003, **changes}
    return recipe_of("meta-rewarding", max_new=6, **values)


@pytest.mark.slow
def test_judgements_train_in_two_rounds_and_answers_in_all() -> None:
    engine = taught(f"judge:{NAME}", f"{NAME}=0.1", num_steps=40)
    recipe = small(num_steps=8, num_prompts=4, group_size=4, temperature=1.5, top_p=1.0)
    notes, _ = run(recipe, engine, pool=POOL, codec=Signs())
    roles = [{row.role for row in step if row.in_loss} for step in notes.rows]
    assert "judge" in set.union(*roles[:4]) <= {"policy", "judge"} and set.union(*roles[4:]) <= {"policy"}
    assert all({row.role for row in step} <= {"policy", "judge"} for step in notes.rows[4:])


@pytest.mark.slow
def test_a_run_goes_on_with_the_same_bits() -> None:
    require_resumable(small(), lambda: taught(NAME, f"judge:{NAME}", num_steps=5), after=2, pool=POOL, codec=Signs())


@pytest.mark.slow
def test_judgements_that_are_rated_by_the_truth_become_right() -> None:
    """With the checker in the meta-judge's place: what is left are pairs of judgements, rounds and DPO."""
    recipe = small(num_steps=24, num_prompts=8, group_size=4, learning_rate=0.001, temperature=1.0, top_p=1.0)
    first = recipe.stages[0].mechanism
    assert first is not None
    (ask, _), (heat, _, ranked), (judge, _) = first.expand, first.curate, first.rules
    truthful = dataclasses.replace(
        first,
        expand=(ask,),
        collect=first.collect[:2],
        curate=(heat, dataclasses.replace(ranked, roles=("judge",))),
        rules=(dataclasses.replace(judge, reward=(Outcome(),)),),
    )
    stages = tuple(dataclasses.replace(stage, mechanism=truthful) for stage in recipe.stages)
    engine = taught(f"judge:{NAME}", f"{NAME}=0.3", num_steps=20)
    notes, _ = run(dataclasses.replace(recipe, mechanism=truthful, stages=stages), engine, pool=POOL, codec=Signs())
    judgements = [[e.right for e in step if e.request.role == "judge"] for step in notes.episodes]
    right = [np.mean(step) for step in judgements]
    assert np.mean(right[6:12]) > np.mean(right[:6]) + 0.2, "the second round reads what the first has learnt"
