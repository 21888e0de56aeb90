"""Pairs by score, and rounds in which the policy judges itself."""

from __future__ import annotations

import dataclasses

import judged
import preferred
import pytest
from hypothesis import given
from hypothesis import strategies as st
from judged import NAME, POOL, RULED, Signs, taught
from learning_draws import shown
from tiny import ALONE, episode, recipe_of, register, require_resumable, run

from assay.curate import RankedPairs
from assay.curate.pairs import SIDES
from assay.curate.ranked import best_and_worst
from assay.part import bind
from assay.recipe import Recipe
from assay.reward import Outcome
from assay.types import Row


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    judged.register(monkeypatch, RULED)


def rows(*scores: float, lengths: tuple[int, ...] = (), role: str = "policy", group: str = "g") -> list[Row]:
    lengths = lengths or (2,) * len(scores)
    made = [
        episode([1] * n, sample=i, reward=score, role=role, group=group)
        for i, (score, n) in enumerate(zip(scores, lengths, strict=True))
    ]
    return [Row(one) for one in made]


def sides(found: list[Row]) -> list[float]:
    return [float(row.constants[SIDES][0]) for row in found]


def test_pairs_by_hand() -> None:
    """Scores 4, 1, 3.9, 1.2. With a tier of 0.1 everything from 3.7 on may win and up to 1.3 may lose."""
    scores, lengths = (4.0, 1.0, 3.9, 1.2), (5, 2, 3, 4)
    assert best_and_worst(scores, lengths, tier=0.0) == (0, 1)
    assert best_and_worst(scores, lengths, tier=0.1) == (2, 3)
    assert best_and_worst((1.0, 1.0), (1, 2), tier=0.1) is None
    given = [*rows(*scores, lengths=lengths), *rows(1.0, 1.0, group="h")]
    found = bind(RankedPairs(tier=0.1))(given)
    assert sides(found) == [0.0, 0.0, 1.0, -1.0, 0.0, 0.0]
    assert [row.in_loss for row in found] == [False, False, True, True, False, False]
    assert sides(bind(RankedPairs())(rows(1.0, 0.0, role="judge"))) == [0.0, 0.0]
    extremes = RankedPairs(roles=("policy", "judge"), tier=0.1, extremes=("judge",))
    judges = rows(*scores, lengths=lengths, role="judge", group="j")
    assert sides(bind(extremes)([*given, *judges])) == [0.0, 0.0, 1.0, -1.0, 0.0, 0.0, 1.0, -1.0, 0.0, 0.0]
    assert RankedPairs(tier=0.5).refusal() and RankedPairs(tier=0.49).refusal() is None


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(1, 9)), min_size=2, max_size=8), st.sampled_from([0.0, 0.3, 0.49])
)
def test_the_winner_has_the_higher_score(drawn: list[tuple[int, int]], tier: float) -> None:
    scores, lengths = [float(score) for score, _ in drawn], [length for _, length in drawn]
    pair = best_and_worst(scores, lengths, tier=tier)
    assert (pair is None) == (len(set(scores)) == 1)
    if pair is not None:
        assert scores[pair[0]] > scores[pair[1]]
        moved = best_and_worst([2 * score + 7 for score in scores], lengths, tier=tier)
        assert moved == pair


def small(**changes: object) -> Recipe:
    values = {"num_prompts": 4, "group_size": 4, "num_steps": 6, "warmup_steps": 0, "learning_rate": 0.003, **changes}
    return recipe_of("self-rewarding", max_new=6, **values)


def test_answers_train_and_judgements_do_not() -> None:
    notes, _ = run(small(), taught(f"judge:{NAME}", NAME, num_steps=20), pool=POOL, codec=Signs())
    trained = [{row.role for row in step if row.in_loss} for step in notes.rows]
    assert set.union(*trained) == {"policy"}
    for step in notes.rows:
        said = [row for row in step if row.role == "judge"]
        assert len(said) == 3 * len([row for row in step if row.role == "policy"])
        versions = {segment.version for row in step for segment in row.episode.segments}
        assert len(versions) == 1, "answers and judgements of a round are those of one frozen policy"


@pytest.mark.slow
def test_a_run_goes_on_with_the_same_bits() -> None:
    require_resumable(
        small(num_steps=3, num_prompts=2), lambda: taught(NAME, num_steps=1), after=2, pool=POOL, codec=Signs()
    )


@pytest.mark.slow
@pytest.mark.learning
def test_what_scores_highest_is_learnt(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the verifier in the judge's place: what is left are pairs by reward, rounds and DPO."""
    register(monkeypatch, ALONE)
    recipe = recipe_of("self-rewarding", max_new=4, num_prompts=8, group_size=8, num_steps=24, learning_rate=0.005)
    mechanism = dataclasses.replace(recipe.mechanism, expand=(), reward=(Outcome(),))
    scale = dataclasses.replace(recipe.scale, temperature=1.0, top_p=1.0, num_minibatches=1, warmup_steps=2)
    engine = preferred.beginner()
    before = preferred.accuracy(engine)
    run(dataclasses.replace(recipe, mechanism=mechanism, scale=scale), engine)
    shown("rise", preferred.accuracy(engine) - before, above=0.2)
