"""Hints of a length that is chosen online: the response curve, its fit and inverse, the rounds, the hint's own loss."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from learning_draws import shown
from scipy.optimize import least_squares
from tiny import Table, batch_of, episode, models_of, recipe_of, require_resumable, run, segment, update
from worked import POOL, Signs, beginner, register, world

from assay.memory import Memory
from assay.methods.exploration.seele.begin import begin_at_rate, begun
from assay.methods.exploration.seele.rates import (
    HIGHEST,
    LOWEST,
    STORE,
    curve,
    fit,
    inverse,
    keep_rate,
    points_of,
    rate_for,
    rate_of,
)
from assay.methods.exploration.seele.rates import STORE as RATES
from assay.methods.exploration.seele.rounds import hint_rounds
from assay.objective import Likelihood, Written
from assay.recipe import Recipe
from assay.record.measure import step_stats
from assay.rng import Key
from assay.tasks import task
from assay.types import Episode, Origin, Problem, Request, Row


@pytest.fixture(autouse=True)
def worked(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def small(**scale: object) -> Recipe:
    given = {"num_prompts": 4, "group_size": 4, "num_minibatches": 1, "warmup_steps": 0, **scale}
    recipe = recipe_of("seele", max_new=6, **given)
    source = dataclasses.replace(recipe.mechanism.source, size=4)  # type: ignore[call-arg]
    return dataclasses.replace(recipe, mechanism=dataclasses.replace(recipe.mechanism, source=source))


# The curve


@given(st.floats(0.01, 0.99), st.floats(1, 50), st.floats(-1.5, 1), st.floats(0, 0.9))
@settings(max_examples=100, deadline=None)
def test_the_inverse_is_the_inverse(accuracy: float, k: float, mu: float, b: float) -> None:
    rate = inverse(accuracy, k, mu, b)
    if accuracy <= b:
        assert rate == float("-inf") and rate_for({}, accuracy, 5) <= 0.8
    else:
        assert float(curve(np.array(rate), k, mu, b)) == pytest.approx(accuracy, abs=1e-9)


def truth(rate: float) -> float:
    return 1 / (1 + np.exp(-10 * (rate - 0.5)))


def test_without_noise_the_fourth_round_is_at_one_half() -> None:
    """A curve of k = 10, mu = -1/2, b = 0, cold start 0.8, rates not rounded to steps."""
    rate = 0.8
    seen = {rate: truth(rate)}
    for _ in range(3):
        rate = inverse(0.5, *fit(seen))
        seen[rate] = truth(rate)
    assert abs(truth(rate) - 0.5) < 0.02


@pytest.mark.parametrize("centre", [0.25, 0.4, 0.62])
def test_other_curves_are_found_too(centre: float) -> None:
    def answer(rate: float) -> float:
        return 1 / (1 + np.exp(-14 * (rate - centre)))

    rate = 0.8
    seen = {rate: answer(rate)}
    for _ in range(5):
        rate = float(np.clip(inverse(0.5, *fit(seen)), 0, 0.8))
        seen[rate] = answer(rate)
    assert abs(answer(rate) - 0.5) < 0.05


rates = st.integers(0, 5).map(lambda i: i / 5)


@pytest.mark.slow
@given(st.sets(rates, min_size=1), st.lists(st.integers(0, 8), min_size=6, max_size=6))
@settings(max_examples=40, deadline=None)
def test_the_fit_is_as_good_as_that_of_a_library(tried: set[float], rights: list[int]) -> None:
    """On accuracies that do not fall with help; elsewhere either may end in a local minimum."""
    points = {p: r / 8 for p, r in zip(sorted(tried), sorted(rights))}
    known = {0.0: 0.0, 1.0: 1.0} | points
    rate, accuracy = np.array(list(known)), np.array(list(known.values()))

    def error(v: np.ndarray) -> np.ndarray:
        return curve(rate, *v) - accuracy

    found = np.array(fit(points))
    assert (found >= LOWEST).all() and (found <= HIGHEST).all()
    other = least_squares(error, (10.0, -0.5, 0.01), bounds=(LOWEST, HIGHEST), method="trf")
    assert (error(found) ** 2).sum() <= 2 * other.cost + 0.02


def test_a_margin_stands_in_the_fit_until_its_rate_was_tried() -> None:
    """With (0, 0) in the sum the curve is low at 0; once rate 0 was seen at 0.75, it is not."""
    low, seen = fit({0.5: 0.75}), fit({0.5: 0.75, 0.0: 0.75})
    assert float(curve(np.array(0.0), *low)) < 0.2
    assert float(curve(np.array(0.0), *seen)) > 0.6
    assert rate_for({0.0: 0.75, 0.5: 0.8}, 0.5, 5) == 0.0  # guessing does better than one half: no hint


# Rounds


def problem(level: int = 4) -> Problem:
    return task("mod-chain").problem(Key(2), level=level)


class Characters:
    end_ids = frozenset({0})
    stops: tuple[str, ...] = ()

    def encode(self, text: str) -> np.ndarray:
        return np.frombuffer(text.encode(), np.uint8).astype(np.int32)


CODEC: object = Characters()


def asked(count: int = 2) -> list[Request]:
    return [Request(problem(), np.zeros(1, np.int32), "0:0", max_new=9, sample=i) for i in range(count)]


def judged(requests: Sequence[Request], rights: Sequence[bool | None]) -> list[Episode]:
    made = [episode([1], reward=None if right is None else float(right)) for right in rights]
    return [dataclasses.replace(e, request=r) for e, r in zip(made, requests, strict=True)]


@pytest.mark.parametrize(("rate", "count"), [(0.0, 0), (0.12, 0), (0.13, 1), (0.5, 2), (0.75, 3), (1.0, 3)])
def test_a_rate_gives_the_nearest_number_of_steps_and_never_the_last(rate: float, count: int) -> None:
    request = begun(asked()[0], rate, CODEC)  # type: ignore[arg-type]
    written = "".join(bytes(s.ids.astype(np.uint8)).decode() for s in request.prefix)
    assert (problem().solution or "").startswith(written) and written.count(",") == count
    assert rate_of(request) == count / 4 and request.helped == (count > 0)
    assert all((s.origin == Origin.INJECTED).all() for s in request.prefix)


def test_a_new_problem_starts_with_all_but_the_last_step_a_known_one_where_it_was() -> None:
    known = Memory(0).keep(STORE, {problem().id: 0.25})
    for memory, rate, expected in ((Memory(0), None, 0.75), (known, None, 0.25), (known, 0.5, 0.5)):
        made = begin_at_rate(asked(), memory, codec=CODEC, rate=rate)  # type: ignore[arg-type]
        assert [rate_of(r) for r in made] == [expected] * 2


def test_every_round_asks_the_whole_group_again_at_the_predicted_rate() -> None:
    first = begin_at_rate(asked(4), Memory(0), codec=CODEC, rate=None)  # type: ignore[arg-type]
    episodes = judged(first, [True, True, True, None])
    for number in range(1, 4):
        expected = rate_for(points_of(episodes), 0.5, 4)
        again = hint_rounds(episodes, codec=CODEC, rounds=4, target=0.5)  # type: ignore[arg-type]
        assert [r.sample for r in again] == [0, 1, 2, 3] and {r.round for r in again} == {number}
        assert {r.group for r in again} == {"0:0"}
        assert {rate_of(r) for r in again} == {min(int(expected * 4 + 0.5), 3) / 4}
        episodes += judged(again, [False, number == 2, False, False])
    assert hint_rounds(episodes, codec=CODEC, rounds=4, target=0.5) == []  # type: ignore[arg-type]
    assert len({e.request.id for e in episodes}) == 16
    memory = keep_rate(Memory(0), episodes=episodes, target=0.5)
    assert memory.store(STORE) == {problem().id: rate_for(points_of(episodes), 0.5, 4)}


def test_accuracies_of_equal_rates_are_averaged() -> None:
    low, high = (begin_at_rate(asked(2), Memory(0), codec=CODEC, rate=r) for r in (0.25, 0.5))  # type: ignore[arg-type]
    episodes = judged([*low, *high, *low], [True, False, True, None, False, False])
    assert points_of(episodes) == {0.25: 0.25, 0.5: 1.0}


# The loss


@pytest.mark.parametrize("gamma", [0.001, 0.3, 0.0])
def test_the_hint_is_imitated_and_has_no_part_in_the_policy_gradient(gamma: float) -> None:
    """d loss / d log pi of a hint token: -gamma / (B L), whatever the row's advantage; 0 without the term."""
    recipe = small()
    term = Likelihood(weight=gamma, over=Written("injected"))
    goal = dataclasses.replace(recipe.mechanism.objective, regularise=(), extra=(term,))
    recipe = dataclasses.replace(recipe, mechanism=dataclasses.replace(recipe.mechanism, objective=goal))
    rows = [
        Row(episode([segment([1, 2], origin=Origin.INJECTED), segment([3, 4, 0])], sample=i, reward=reward))
        for i, reward in enumerate((1.0, 0.0, 0.0))
    ]
    rows = [row.mark(old=np.full(5, -1.0, np.float32)) for row in rows]
    table = Table({row.episode.request.id: [-1.0] * 5 for row in rows})
    update(table, batch_of(recipe, rows), goal, recipe.scale)
    for row, advantage in zip(rows, (2 / 3, -1 / 3, -1 / 3)):
        found = table.coefficients[row.episode.request.id]
        np.testing.assert_allclose(found[:2], -gamma / (3 * recipe.scale.max_new), rtol=1e-6, atol=1e-12)
        np.testing.assert_allclose(found[2:], -advantage / (3 * recipe.scale.max_new), rtol=1e-5)


# In the loop


def test_four_rounds_of_one_group_are_one_baseline() -> None:
    phases, models, memory = world(small()), models_of(beginner()), Memory(1)
    episodes, memory = phases.collect(models, phases.ask(models, phases.source(memory), memory), memory)
    assert len(episodes) == 4 * 4 * 4
    rows = [Row(e) for e in episodes]
    (batch,) = phases.credit(rows, memory)
    for group in set(batch.group):
        members = [i for i, g in enumerate(batch.group) if g == group]
        advantages = [float(batch.advantage[batch.at[i]]) for i in members]
        assert len(members) == 16 and sum(advantages) == pytest.approx(0.0, abs=1e-5)
    stats = step_stats(episodes, rows)
    for number in range(4):
        of_round = [e for e in episodes if e.request.round == number]
        means = [
            np.mean([e.verdict.status == "ok" for e in of_round if e.request.group == g])  # type: ignore[union-attr]
            for g in {e.request.group for e in of_round}
        ]
        assert stats[f"round/{number}/accuracy"] == pytest.approx(np.mean(means))
        assert stats[f"round/{number}/distance_from_half"] == pytest.approx(np.mean(np.abs(np.array(means) - 0.5)))


@pytest.mark.slow
def test_a_stopped_run_goes_on_with_its_rates() -> None:
    recipe = small(num_steps=4, learning_rate=0.02, num_minibatches=2)
    memory = require_resumable(recipe, beginner, after=2, pool=POOL, codec=Signs())
    assert len(memory.store(STORE)) == 4


@pytest.mark.slow
@pytest.mark.learning
def test_it_learns() -> None:
    recipe = small(num_prompts=8, num_steps=40, learning_rate=0.02)
    notes, _ = run(recipe, beginner(), pool=POOL, codec=Signs())
    accuracy = notes.accuracy()
    shown("rise", accuracy[-4:].mean() - accuracy[:4].mean(), above=0.2)
    assert notes.stats[0]["policy/clip_fraction"] == 0.0  # what is given is not clipped, it has no gate to pass


@pytest.mark.parametrize("rounds", [(True, False), (False, True)])
def test_the_next_hint_is_fitted_to_all_rounds(rounds: tuple[bool, bool]) -> None:
    """Two steps of four were given twice, and once all answers were right, once none: one half, which is the target.
    The last round alone would say that a step fewer is enough, or that one more is needed.
    """
    episodes: list[Episode] = []
    for number, right in enumerate(rounds):
        requests = begin_at_rate(asked(4), Memory(0), codec=CODEC, rate=0.5)  # type: ignore[arg-type]
        requests = [dataclasses.replace(request, round=number) for request in requests]
        episodes += judged(requests, [right] * 4)
    again = hint_rounds(episodes, codec=CODEC, rounds=4, target=0.5)  # type: ignore[arg-type]
    assert [rate_of(request) for request in again] == [0.5] * 4
    (kept,) = keep_rate(Memory(0), episodes=episodes, target=0.5).store(RATES).values()
    assert kept == pytest.approx(0.5, abs=1e-3)
