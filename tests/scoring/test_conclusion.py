"""The one rule from numbers to words: at its edges, its p beside its word, and its errors over families."""

from __future__ import annotations

import math
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from assay.errors import UsageError
from assay.rng import Key
from assay.scoring.conclusion import ALPHA, LEAST_SEEDS, Family, Moves, Stated, Word, conclude, together, word_of
from assay.scoring.inference import Few, effect, effect_of_seeds
from assay.scoring.intervals import Interval, over_problems

ONE = Family("differences", 1)


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (0.01, 0.09, "BETTER"),
        (-0.09, -0.01, "WORSE"),
        (-0.09, 0.09, "UNDECIDED"),
        (0.0, 0.09, "UNDECIDED"),  # touches 0
        (-0.09, 0.0, "UNDECIDED"),
        (-0.019, 0.019, "EQUAL"),
        (0.001, 0.019, "EQUAL"),  # before BETTER
        (-0.019, -0.001, "EQUAL"),
        (-0.02, 0.01, "UNDECIDED"),  # touches -w
        (0.001, 0.02, "BETTER"),  # touches w
        (math.nan, math.nan, "UNDECIDED"),
    ],
)
def test_without_a_direction(low: float, high: float, word: Word) -> None:
    assert word_of(Interval((low + high) / 2, low, high), Stated(0.02)) == word


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (0.001, 0.09, "SUPPORTED"),
        (0.0, 0.09, "UNDECIDED"),
        (-0.05, 0.02, "UNDECIDED"),  # touches w
        (-0.05, 0.019, "REFUTED"),
        (-0.05, -0.03, "REFUTED"),
        (-0.01, 0.019, "EQUAL"),
    ],
)
def test_a_direction_without_a_size(low: float, high: float, word: Word) -> None:
    assert word_of(Interval(0.0, low, high), Stated(0.02, "up")) == word
    assert word_of(Interval(0.0, -high, -low), Stated(0.02, "down")) == word


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (0.051, 0.09, "SUPPORTED"),
        (0.05, 0.09, "UNDECIDED"),  # touches s
        (0.03, 0.05, "UNDECIDED"),
        (0.03, 0.049, "REFUTED"),  # surely something, and surely less than what was stated
        (-0.01, 0.01, "REFUTED"),  # EQUAL is not said where a size was stated
    ],
)
def test_a_direction_and_a_size(low: float, high: float, word: Word) -> None:
    assert word_of(Interval(0.0, low, high), Stated(0.02, "up", 0.05)) == word
    assert word_of(Interval(0.0, -high, -low), Stated(0.02, "down", 0.05)) == word


def test_a_measure_without_a_smallest_effect_is_never_equal_and_refuted_below_0() -> None:
    stated = Stated(0.0, "up")
    assert word_of(Interval(0.0, -1e-9, 1e-9), stated) == "UNDECIDED"
    assert word_of(Interval(0.0, -2.0, -1.0), stated) == "REFUTED"
    assert word_of(Interval(0.0, -1e-9, 1e-9), Stated(0.0)) == "UNDECIDED"


stated_things = st.builds(
    lambda worth, moves, size: Stated(worth, moves, size if moves and size else None),
    st.sampled_from([0.0, 0.01, 0.05]),
    st.sampled_from(get_args(Moves)),
    st.sampled_from([0.0, 0.01, 0.1]),
)


@given(
    st.lists(st.floats(-0.2, 0.2), min_size=2, max_size=8),
    stated_things,
    st.integers(1, 30),
)
def test_p_and_the_word_cannot_disagree(values: list[float], stated: Stated, size: int) -> None:
    """p is below 5 % exactly where a word was said. Values that touch a bound by rounding are left out."""
    family = Family("differences", size)
    found = conclude(effect_of_seeds(values, bounds=(-1.0, 1.0)), stated, family)
    if len(values) < LEAST_SEEDS:
        assert (found.word, found.p) == ("NOT ENOUGH SEEDS", None)
        return
    assert found.p is not None
    if abs(found.p - ALPHA) > 1e-6:
        assert (found.p < ALPHA) == (found.word != "UNDECIDED")
    assert found.found == effect_of_seeds(values, bounds=(-1.0, 1.0)).within(1 - ALPHA / size)


@given(st.integers(0, 200), stated_things, st.integers(1, 30))
def test_p_and_the_word_agree_over_problems_too(number: int, stated: Stated, size: int) -> None:
    rng = np.random.default_rng(number)
    values = rng.choice([-1.0, 0.0, 1.0], (60, 1), p=[0.1, 0.6, 0.3]) * rng.choice([0.1, 1.0])
    (estimate,) = over_problems(values, Key(number), draws=2000, bounds=(-1.0, 1.0))
    found = conclude(estimate, stated, Family("differences", size))
    assert found.p is not None
    if abs(found.p - ALPHA) > 2e-3:
        assert (found.p < ALPHA) == (found.word != "UNDECIDED")


@given(st.lists(st.floats(-0.2, 0.2), min_size=5, max_size=8), st.integers(1, 30))
def test_a_flipped_sign_flips_the_word(values: list[float], size: int) -> None:
    family, flipped = Family("differences", size), {"BETTER": "WORSE", "WORSE": "BETTER"}
    one, two = (conclude(effect_of_seeds([s * v for v in values]), Stated(), family) for s in (1, -1))
    assert two.word == flipped.get(one.word, one.word)
    up = conclude(effect_of_seeds(values), Stated(0.02, "up"), family)
    down = conclude(effect_of_seeds([-v for v in values]), Stated(0.02, "down"), family)
    assert up.word == down.word and up.opposite == down.opposite


def test_what_the_words_say_beside_themselves() -> None:
    assert str(conclude(effect_of_seeds([0.1, 0.1, 0.2]), Stated(), ONE)) == "NOT ENOUGH SEEDS: 3 of 5 at least"
    assert str(conclude(Few(0.1, 1), Stated(), ONE)) == "NOT ENOUGH SEEDS: 1 of 5 at least"
    assert str(conclude(effect_of_seeds([0.001, 0.0, -0.001, 0.0, 0.001]), Stated(), ONE)) == "EQUAL within 0.02"
    opposite = conclude(effect_of_seeds([-0.1, -0.11, -0.1, -0.12, -0.1]), Stated(0.02, "up", 0.05), ONE)
    assert opposite.opposite and str(opposite) == "REFUTED, the opposite"
    small = conclude(effect_of_seeds([0.01, 0.011, 0.01, 0.012, 0.01]), Stated(0.02, "up", 0.05), ONE)
    assert not small.opposite and str(small) == "REFUTED"


def test_what_is_undecided_says_what_would_decide_it_at_the_level_of_its_family() -> None:
    values = [0.05, -0.04, 0.06, -0.03, 0.02]
    alone, among = (conclude(effect_of_seeds(values), Stated(), Family("differences", size)) for size in (1, 20))
    assert alone.needed and among.needed and alone.needed.seeds and among.needed.seeds
    assert alone.needed.seeds < among.needed.seeds
    spread = np.std(values, ddof=1)
    power = stats.nct.sf(
        stats.t.ppf(0.975, alone.needed.seeds - 1),
        alone.needed.seeds - 1,
        0.02 / spread * math.sqrt(alone.needed.seeds),
    )
    assert power == pytest.approx(0.8, abs=0.02)
    assert alone.power is not None and among.power is not None and alone.power > among.power
    assert str(alone) == (
        f"UNDECIDED; {alone.needed.seeds} seeds would show 0.02, and 0.04 is seen in {alone.power:.0%} of comparisons "
        "like this"
    )
    sized = conclude(effect_of_seeds(values), Stated(0.02, "up", 0.01), ONE)
    assert "would show 0.02 beyond 0.01" in str(sized)
    assert str(conclude(effect_of_seeds(values), Stated(0.0), ONE)) == "UNDECIDED", "nothing is known of what matters"


def test_a_family_is_counted_and_named() -> None:
    assert Family("differences from grpo", 8).level == pytest.approx(1 - 0.05 / 8)
    assert str(Family("differences from grpo", 8)) == "8 differences from grpo"
    assert Family("differences", 0).level == 0.95


def test_a_claim_of_several_conditions() -> None:
    assert together(["SUPPORTED", "SUPPORTED"]) == "SUPPORTED"
    assert together(["SUPPORTED", "REFUTED", "UNDECIDED"]) == "REFUTED"
    assert together(["SUPPORTED", "UNDECIDED"]) == together(["SUPPORTED", "NOT ENOUGH SEEDS"]) == "UNDECIDED"
    assert together([]) == "UNDECIDED"


def test_what_cannot_be_stated_is_refused() -> None:
    with pytest.raises(UsageError, match="0 or more, not -1"):
        Stated(-1.0)
    with pytest.raises(UsageError, match="0 or more, not nan"):
        Stated(math.nan)
    with pytest.raises(UsageError, match="positive number, of what goes up or down"):
        Stated(size=0.1)
    with pytest.raises(UsageError, match="positive number"):
        Stated(moves="up", size=0.0)


def test_methods_are_judged_over_seeds_and_checkpoints_over_problems() -> None:
    rng = np.random.default_rng(0)
    problems = rng.normal(0.1, 0.2, (400, 1)).clip(-1, 1)
    better = conclude(over_problems(problems, Key(0), bounds=(-1.0, 1.0))[0], Stated(), ONE)
    assert better.word == "BETTER" and better.estimate.seeds is None
    open_ = conclude(
        over_problems(rng.normal(0.01, 0.4, (100, 1)).clip(-1, 1), Key(0), bounds=(-1.0, 1.0))[0], Stated(), ONE
    )
    assert open_.word == "UNDECIDED" and open_.needed is not None and open_.needed.seeds is None
    assert open_.needed.problems is not None and open_.needed.problems > 1000
    single = conclude(over_problems(np.array([[0.3]]), Key(0), bounds=(-1.0, 1.0))[0], Stated(), ONE)
    assert str(single) == "UNDECIDED" and single.p == 1.0


@pytest.mark.turns(3)
@pytest.mark.slow
@pytest.mark.parametrize(("seeds", "arms"), [(5, 3), (5, 22), (9, 3), (9, 22)])
def test_families_without_a_difference_seldom_hold_a_word(seeds: int, arms: int) -> None:
    """Arms of normal differences that share their first arm: at most 5 %, with three standard errors of 150 tries."""
    rng, family, false = np.random.default_rng(9), Family("differences", arms - 1), 0
    for _ in range(150):
        of_arms = rng.normal(0, 0.02, (arms, seeds, 1)) + rng.normal(0, 0.1, (arms, seeds, 30))
        of_arms += rng.normal(0, 0.05, (arms, 1, 30))
        words = [conclude(effect(one - of_arms[0]), Stated(0.0), family).word for one in of_arms[1:]]
        false += any(word != "UNDECIDED" for word in words)
    assert false / 150 <= ALPHA + 3 * math.sqrt(ALPHA * (1 - ALPHA) / 150)
