"""The chance of a blind guess is below 0.05 at every shipped level. Each test says who guesses."""

from __future__ import annotations

import itertools
import math
import random
import re
from collections import Counter

import pytest
from test_tasks_oracles import accepted, answer_of, graph, problems, simple_paths

from assay.rng import Key
from assay.tasks import TASKS, task
from assay.tasks.compose import FUNCTIONS
from assay.tasks.lists import PRIMITIVES

LIMIT = 0.05


def levels(name: str) -> list[int]:
    return list(TASKS[name].generator.levels)


@pytest.mark.parametrize("level", levels("mod-chain"))
def test_every_residue_is_the_answer_for_exactly_one_start(level: int) -> None:
    """A constant: right with probability 1/23, since the start is uniform and each step is a bijection."""
    chain = task("mod-chain")
    for problem in problems("mod-chain", level, 10):
        answers = {chain.wordings.solve({**problem.spec, "start": start}).answer for start in range(23)}
        assert answers == {str(x) for x in range(23)}
    assert LIMIT > 1 / 23


def test_starts_of_chains_are_uniform() -> None:
    generator = Key(3).generator()
    starts = Counter(task("mod-chain").generator.instance(generator, 2)["start"] for _ in range(23_000))
    chi_square = sum((starts[x] - 1000) ** 2 / 1000 for x in range(23))
    assert chi_square < 48.3  # 22 degrees of freedom, p = 0.001


def random_expression(numbers: list[int], draw: random.Random) -> str:
    """A uniform choice of a pair to join, an order and an operator, until one expression is left."""
    parts = [str(number) for number in numbers]
    while len(parts) > 1:
        a = parts.pop(draw.randrange(len(parts)))
        b = parts.pop(draw.randrange(len(parts)))
        parts.append(f"({a}{draw.choice('+-*/')}{b})")
    return parts[0]


@pytest.mark.parametrize("level", levels("countdown"))
def test_random_expressions_of_the_given_numbers_miss_the_target(level: int) -> None:
    """A random well-formed expression that uses each number once."""
    draw = random.Random(level)
    hits = [
        accepted(problem, random_expression(problem.spec["numbers"], draw))
        for problem in problems("countdown", level, 300)
        for _ in range(10)
    ]
    assert sum(hits) / len(hits) < LIMIT


@pytest.mark.slow
def test_fixed_templates_of_four_numbers_miss_the_target() -> None:
    """The same expression for every problem, with its numbers in the order shown, which is random."""
    shapes = ["((a{0}b){1}c){2}d", "(a{0}b){1}(c{2}d)"]
    templates = [shape.format(*signs) for shape in shapes for signs in itertools.product("+-*", repeat=3)]
    batch = [problem.spec for problem in problems("countdown", 4, 1500)]
    orders = [(list(itertools.permutations(spec["numbers"])), spec["target"]) for spec in batch]
    for template in templates:
        value = eval(f"lambda a, b, c, d: {template}")
        hits = sum(value(*order) == target for permutations, target in orders for order in permutations)
        assert hits / 24 / len(orders) < LIMIT, template


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bool", "knights"])
def test_no_constant_row_is_right_often(name: str) -> None:
    """A constant, and a uniformly random row, at the smallest level; larger ones have more rows."""
    batch, symbols = problems(name, 5, 1000), "01" if name == "bool" else "NK"
    rows = ["".join(row) for row in itertools.product(symbols, repeat=5)]
    hits = {row: sum(accepted(problem, row) for problem in batch) / len(batch) for row in rows}
    assert max(hits.values()) < LIMIT
    assert sum(hits.values()) / 32 == pytest.approx(1 / 32)  # one solution each


@pytest.mark.parametrize("level", levels("bool"))
def test_few_rows_satisfy_a_formula(level: int) -> None:
    """A uniformly random row; a constant is no better, as negating a variable throughout changes no probability."""
    for problem in problems("bool", level, 20):
        rows = ("".join(row) for row in itertools.product("01", repeat=level))
        assert sum(accepted(problem, row) for row in rows) / 2**level < LIMIT


@pytest.mark.parametrize("level", levels("path"))
def test_random_sequences_of_nodes_are_not_paths(level: int) -> None:
    """The two ends with m different other nodes between them, at random, for the best m."""
    batch = problems("path", level, 150)
    for between in range(level + 3):
        chances = []
        for problem in batch:
            neighbours, start, end = graph(problem)
            right = sum(len(path) == between + 2 for path in simple_paths(neighbours, start, end))
            chances.append(right / math.perm(len(neighbours) - 2, between))
        assert sum(chances) / len(chances) < LIMIT


@pytest.mark.parametrize("level", levels("list-fn"))
def test_lists_are_not_guessed(level: int) -> None:
    """A constant, the list itself, and from level 2 on one function whatever the question asks for."""
    batch = problems("list-fn", level, 400)
    assert max(Counter(map(answer_of, batch)).values()) / len(batch) < LIMIT
    assert not any(accepted(p, "".join(map(str, p.spec["numbers"]))) for p in batch)
    for primitive in PRIMITIVES.values() if level > 1 else ():
        for k in primitive.arguments or (0,):
            guesses = (primitive.apply(p.spec["numbers"], k) for p in batch)
            hits = sum("".join(map(str, guess)) == answer_of(p) for p, guess in zip(batch, guesses))
            assert hits / len(batch) < LIMIT


@pytest.mark.parametrize("level", levels("compose"))
def test_strings_are_not_guessed(level: int) -> None:
    """A constant, the string itself, and from level 2 on one function whatever the question asks for."""
    batch = problems("compose", level, 400)
    assert max(Counter(map(answer_of, batch)).values()) / len(batch) < LIMIT
    assert not any(accepted(p, p.spec["text"]) for p in batch)
    for _, apply in FUNCTIONS.values() if level > 1 else ():
        assert sum(apply(p.spec["text"]) == answer_of(p) for p in batch) / len(batch) < LIMIT


@pytest.mark.parametrize("level", levels("lis")[:3])
def test_random_increasing_subsequences_are_not_the_longest(level: int) -> None:
    """A uniformly random increasing subsequence of at least two numbers; there are more of them at higher levels."""
    chances = []
    for problem in problems("lis", level, 100):
        endings: list[tuple[int, int]] = []
        for number in problem.spec["numbers"]:
            endings.append((number, 1 + sum(count for other, count in endings if other < number)))
        chances.append(1 / (sum(count for _, count in endings) - len(endings)))
    assert sum(chances) / len(chances) < LIMIT


@pytest.mark.slow
@pytest.mark.parametrize("level", levels("activity"))
def test_random_sets_without_overlap_are_not_the_largest(level: int) -> None:
    """A uniformly random set of at least two activities that do not overlap."""
    chances = []
    for problem in problems("activity", level, 100):
        endings: list[tuple[int, int]] = []
        for start, end in sorted(problem.spec["intervals"], key=lambda interval: interval[1]):
            endings.append((end, 1 + sum(count for other, count in endings if other <= start)))
        chances.append(1 / (sum(count for _, count in endings) - len(endings)))
    assert sum(chances) / len(chances) < LIMIT
    answers = Counter(map(answer_of, problems("activity", level, 200)))
    assert max(answers.values()) / 200 < LIMIT


@pytest.mark.turns(3)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "level"), [(name, level) for name in ("quantities", "trace") for level in levels(name)[::3]]
)
def test_two_digits_are_not_guessed(name: str, level: int) -> None:
    """A constant; digits that the question shows, at random; and for programs, the values at the start."""
    draw, batch = random.Random(level), problems(name, level, 300)
    most = max(Counter(map(answer_of, batch)).values()) / len(batch)
    assert most < LIMIT + 0.01  # the largest of 49 shares of about 1/49, of 300 draws
    shown = [re.findall("[0-6]", str(problem.prompt)) for problem in batch]
    hits = [accepted(p, draw.choice(s) + draw.choice(s)) for p, s in zip(batch, shown) for _ in range(10)]
    assert sum(hits) / len(hits) < LIMIT
    if name == "trace":
        start = [dict(zip("abcd", p.spec["start"])) for p in batch]
        hits = [accepted(p, "".join(values[one] for one in p.spec["asked"])) for p, values in zip(batch, start)]
        assert sum(hits) / len(hits) < LIMIT
