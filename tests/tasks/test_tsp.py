"""Round trips: the optimum against all orders, the reference against it, the checker against the definition."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.policy.routes import RouteCodec
from assay.reward.parts import Graded, Outcome, graded, outcome
from assay.rng import Key
from assay.tasks import task
from assay.tasks.decisions.tsp import length_of, optimum
from assay.types import Episode, Request, Verdict

TSP = task("tsp")


def length(cities: list[list[int]], order: tuple[int, ...]) -> float:
    """By the definition."""
    return sum(math.dist(cities[a], cities[b]) for a, b in itertools.pairwise((*order, order[0])))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(cities=st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), min_size=3, max_size=7, unique=True))
def test_the_optimum_is_the_least_of_all_orders(cities: list[tuple[int, int]]) -> None:
    places: Any = [list(city) for city in cities]
    least = min(length(places, (0, *rest)) for rest in itertools.permutations(range(1, len(places))))
    assert optimum(places) == pytest.approx(least, rel=1e-12)


def test_the_optimum_of_known_shapes() -> None:
    assert optimum([[0, 0], [3, 4]]) == pytest.approx(10)
    assert optimum([[0, 0], [0, 9], [9, 9], [9, 0]]) == pytest.approx(36)
    assert optimum([[x, y] for x in range(0, 40, 10) for y in (0, 10)]) == pytest.approx(80)  # 2 x 4 places, 10 apart
    circle = [
        [round(50 + 49 * math.cos(2 * math.pi * i / 12)), round(50 + 49 * math.sin(2 * math.pi * i / 12))]
        for i in range(12)
    ]
    assert optimum(circle[::5] + [c for c in circle if c not in circle[::5]]) == pytest.approx(
        length(circle, tuple(range(12)))
    )
    with pytest.raises(ValueError, match="2 to 20 cities"):
        optimum([[0, 0]])


@pytest.mark.slow
def test_the_optimum_of_twenty_cities_is_below_the_reference_and_above_a_bound() -> None:
    """Half of the sum of the two shortest roads of each city bounds every round trip from below."""
    spec = TSP.problem(Key(0), level=20).spec
    apart = np.sort([[math.dist(a, b) for b in spec["cities"]] for a in spec["cities"]], axis=1)
    assert apart[:, 1:3].sum() / 2 <= optimum(spec["cities"]) <= length_of(spec["cities"], spec["reference"]) + 1e-9


def test_the_reference_is_nearly_always_the_optimum() -> None:
    specs = [TSP.problem(Key("reference", i), level=9).spec for i in range(40)]
    gaps = [length_of(s["cities"], s["reference"]) / optimum(s["cities"]) - 1 for s in specs]
    assert min(gaps) > -1e-12 and np.mean(gaps) < 2e-3


def asked(text: str, level: int = 6) -> tuple[Any, Verdict]:
    problem = TSP.problem(Key("checked"), level=level)
    return problem.spec, TSP.verify(problem, text)


def test_the_checker_measures_every_round_trip() -> None:
    for order in ((1, 2, 3, 4, 5, 6), (6, 2, 1, 5, 3, 4)):
        spec, verdict = asked(" ".join(map(str, order)))
        cost = length(spec["cities"], tuple(place - 1 for place in order))
        assert verdict.scores["cost"] == pytest.approx(cost)
        assert verdict.scores["cost-gap"] == pytest.approx(cost / length_of(spec["cities"], spec["reference"]) - 1)
        assert verdict.status == ("ok" if verdict.scores["cost-gap"] <= 1e-9 else "fail")  # type: ignore[operator]


def test_a_trip_may_begin_anywhere_and_run_either_way() -> None:
    spec, _ = asked("")
    there = list(spec["reference"])
    for turn in (there, there[2:] + there[:2], there[::-1]):
        assert asked(" ".join(map(str, turn)))[1].status == "ok"
        assert asked(", ".join(map(str, turn)))[1].answer == " ".join(map(str, turn))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "empty"),
        ("1 2 3 4 5", "wrong"),
        ("1 2 3 4 5 5", "wrong"),
        ("0 1 2 3 4 5", "wrong"),
        ("1 2 3 4 5 6 7", "wrong"),
        ("1 2 3 4 5 6.", "format"),
        ("one two", "format"),
        ("-1 2 3 4 5 6", "format"),
        ("1 " * 5000, "format"),
        ("１ 2 3 4 5 6", "format"),
    ],
)
def test_what_is_no_round_trip_has_no_cost(text: str, kind: str) -> None:
    _, verdict = asked(text)
    assert (verdict.status, verdict.kind) == ("fail", kind) and "cost" not in verdict.scores


def episode(text: str, **changes: Any) -> Episode:
    problem = TSP.problem(Key("checked"), level=6)
    request = Request(problem, np.zeros(2, np.int32), "g", 8)
    return Episode(request, (), "stop", text, TSP.verify(problem, text), **changes)


def test_the_outcome_of_a_trip_is_a_line_through_reference_and_twice_its_cost() -> None:
    trips = [episode(" ".join(map(str, order))) for order in ((1, 2, 3, 4, 5, 6), (6, 2, 1, 5, 3, 4))]
    for rewards in (
        outcome(trips, max_new=8, **vars_of(Outcome(right=2.0, wrong=-1.0))),
        graded(trips, **vars_of(Graded(right=2.0, wrong=-1.0))),
    ):
        for trip, reward in zip(trips, rewards, strict=True):
            assert trip.verdict is not None and reward is not None
            assert reward.value == pytest.approx(2.0 - 3.0 * trip.verdict.scores["cost-gap"])  # type: ignore[operator]


def vars_of(part: Any) -> dict[str, Any]:
    return {field.name: getattr(part, field.name) for field in part._fields}


def test_no_trip_is_worth_less_than_no_answer() -> None:
    """Whatever the size: the longest trip is no longer than the sum of the longest roads of all cities."""
    for level in (6, 20, 50):
        spec = TSP.problem(Key("worst", level), level=level).spec
        most = sum(max(math.dist(a, b) for b in spec["cities"]) for a in spec["cities"])
        assert most / length_of(spec["cities"], spec["reference"]) - 1 < 9.0
    (nothing,) = outcome([episode("no idea")], max_new=8, right=1.0, wrong=0.0)
    assert nothing is not None and nothing.value == -8.0


def test_a_blind_trip_is_seldom_right() -> None:
    """Of the sixty round trips through six cities, which all are tried, fewer than one in twenty is right."""
    problems = [TSP.problem(Key("blind", i), level=6) for i in range(20)]
    trips = [" ".join(map(str, (1, *rest))) for rest in itertools.permutations(range(2, 7))]
    right = [TSP.verify(problem, trip).status == "ok" for problem in problems for trip in trips]
    assert 1 / 60 <= np.mean(right) < 0.05


def test_the_codec_reads_the_cities_and_writes_the_trip() -> None:
    codec, problem = RouteCodec(places=128), TSP.problem(Key("codec"), level=7)
    assert codec.render(problem.prompt).reshape(-1, 2).tolist() == problem.spec["cities"]
    assert codec.decode(codec.encode(problem.solution or "")) == problem.solution
    assert TSP.verify(problem, codec.decode([*problem.spec["reference"], 0])).status == "ok"
