"""The travelling salesman: the shortest round trip through some cities, whose coordinates are whole numbers.

Every round trip is an answer. Its verdict has two scores: `cost`, the length, and `cost-gap`, by which share it is
longer than the reference: the best trip that exchanges of two roads find from up to twenty first cities, which is
nearly always the shortest there is. An answer is right if it is no longer. `optimum` computes the shortest.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np

from assay.tasks.abilities import OwnPolicy
from assay.tasks.decisions import COST, DECISIONS, GAP
from assay.tasks.task import Checker, Generator, Solution, Spec, Task, Wordings
from assay.types import Verdict

SIDE = 100  # coordinates are 0 .. 99
MOST_STARTS = 20  # cities from which the reference is searched
MOST_EXACT = 20  # cities of which the optimum is computed: the tables of twenty take 80 MB
_MAX_CHARACTERS = 512
_SLACK = 1e-9  # by which equal sums may differ
_PLACES = re.compile(r"[0-9]{1,3}(?:[ ,]+[0-9]{1,3})*")

City = Sequence[int]


def _instance(generator: np.random.Generator, level: int) -> Spec:
    chosen = generator.permutation(SIDE * SIDE)[:level]
    cities = [[int(cell) // SIDE, int(cell) % SIDE] for cell in chosen]
    return {"cities": cities, "reference": [int(city) + 1 for city in reference(cities)]}


def distances(cities: Sequence[City]) -> np.ndarray:
    """float64[n, n]"""
    points = np.array(cities, np.float64)
    apart = points[:, None] - points[None]
    return np.sqrt((apart**2).sum(-1))


def reference(cities: Sequence[City]) -> np.ndarray:
    """The best round trip that 2-opt finds from the nearest-neighbour trips of up to twenty first cities."""
    between = distances(cities)
    trips = _nearest(between, min(len(cities), MOST_STARTS))
    trips = _exchanged(trips, between)
    return trips[np.argmin(between[trips, np.roll(trips, -1, axis=1)].sum(1).round(6))]


def _nearest(between: np.ndarray, starts: int) -> np.ndarray:
    """int64[starts, n]: the trips that always go to the nearest city, each from another one."""
    n, rows = len(between), np.arange(starts)
    trips, left = np.zeros((starts, n), np.int64), np.ones((starts, n), bool)
    trips[:, 0] = rows
    for place in range(1, n):
        left[rows, trips[:, place - 1]] = False
        trips[:, place] = np.where(left, between[trips[:, place - 1]], np.inf).argmin(1)
    return trips


def _exchanged(trips: np.ndarray, between: np.ndarray) -> np.ndarray:
    """The trips after the best exchanges of two roads, as long as one of them shortens a trip."""
    n, places = trips.shape[1], np.arange(trips.shape[1])
    later = places[:, None] < places[None] - 1
    live = np.arange(len(trips))
    while len(live):
        here, there = trips[live], np.roll(trips[live], -1, axis=1)
        roads = between[here, there]
        new = between[here[:, :, None], here[:, None]] + between[there[:, :, None], there[:, None]]
        change = np.where(later, new - roads[:, :, None] - roads[:, None], 0.0).reshape(len(live), -1)
        best = change.argmin(1)
        shorter = change[np.arange(len(live)), best] < -_SLACK
        live, best = live[shorter], best[shorter]
        low, high = best // n + 1, best % n
        turned = (places >= low[:, None]) & (places <= high[:, None])
        order = np.where(turned, low[:, None] + high[:, None] - places, places)
        trips[live] = np.take_along_axis(trips[live], order, 1)
    return trips


def optimum(cities: Sequence[City]) -> float:
    """The length of the shortest round trip, by the dynamic program of Held and Karp (1962):

    C(S, j) = min over i in S without j of C(S without j, i) + d_ij,

    where S holds the cities between the last one, at which every trip begins, and j. Sets of one size are computed at
    once; n cities take n^2 2^n operations.
    """
    n = len(cities)
    if not 2 <= n <= MOST_EXACT:
        raise ValueError(f"the optimum is computed of 2 to {MOST_EXACT} cities, not {n}")
    between = distances(cities)
    inner, home = between[:-1, :-1], between[-1, :-1]
    cost = np.full((1 << (n - 1), n - 1), np.inf)
    cost[1 << np.arange(n - 1), np.arange(n - 1)] = home
    for sets in _by_size(n - 1)[2:]:
        for j in range(n - 1):
            some = sets[(sets >> j) & 1 == 1]
            cost[some, j] = (cost[some ^ (1 << j)] + inner[:, j]).min(1)
    return float((cost[-1] + home).min())


def _by_size(count: int) -> list[np.ndarray]:
    """The sets of 0, 1, 2, ... of `count` things, as bits."""
    sets = np.arange(1 << count)
    sizes = sum((sets >> bit) & 1 for bit in range(count))
    return [sets[sizes == size] for size in range(count + 1)]


def length_of(cities: Sequence[City], order: Sequence[int]) -> float:
    """The length of the round trip through the cities of these numbers, which begin at 1."""
    stops = [cities[number - 1] for number in order]
    return sum(math.dist(here, there) for here, there in zip(stops, [*stops[1:], stops[0]], strict=True))


def _canonical(spec: Spec) -> str:
    """The set of cities: their numbers make no other problem of it."""
    return " ".join(f"{x},{y}" for x, y in sorted(spec["cities"]))


def _compact(spec: Spec) -> str:
    return "r " + " ".join(f"{x},{y}" for x, y in spec["cities"])


def _natural(spec: Spec) -> str:
    lines = "\n".join(f"{number}: ({x}, {y})" for number, (x, y) in enumerate(spec["cities"], 1))
    return (
        f"A round trip visits each of these cities once and returns to the first; roads are straight lines.\n\n{lines}"
        "\n\nFind a round trip that is as short as possible. Give the numbers of the cities in the order of the visit, "
        "with spaces between them, in \\boxed{...}, for example \\boxed{2 1 3}."
    )


def _solve(spec: Spec) -> Solution:
    return Solution(" ".join(map(str, spec["reference"])))


def _check(spec: Spec, text: str) -> Verdict:
    """Adds the length up by itself, without the code that the reference was found by."""
    cities = spec["cities"]
    if len(text) > _MAX_CHARACTERS or _PLACES.fullmatch(text) is None:
        return Verdict.fail("format", "expected the numbers of the cities, with spaces between them")
    order = [int(number) for number in re.findall(r"\d+", text)]
    answer = " ".join(map(str, order))
    if sorted(order) != list(range(1, len(cities) + 1)):
        return Verdict.fail("wrong", f"does not visit each of the cities 1 to {len(cities)} once", answer)
    cost = length_of(cities, order)
    gap = cost / length_of(cities, spec["reference"]) - 1
    status, kind = ("ok", "") if gap <= _SLACK else ("fail", "wrong")
    detail = "" if status == "ok" else f"is {gap:.1%} longer than the reference"
    return Verdict(status, kind, detail, answer, scores={COST: cost, GAP: gap})


TSP = Task(
    name="tsp",
    domain=DECISIONS,
    summary="The shortest round trip through some cities; the level is the number of cities, so tsp:20 has twenty.",
    generator=Generator(levels=range(6, 51), first=20, instance=_instance, canonical=_canonical),
    wordings=Wordings(compact=_compact, natural=_natural, solve=_solve),
    checker=Checker(check=_check),
    abilities=(OwnPolicy("pointer"),),
)
