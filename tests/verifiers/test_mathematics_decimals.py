"""The rule of decimals: what a decimal answer may leave out, and when a decimal gold is one that was rounded."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.types import Problem
from assay.verifiers.mathematics.against_gold import as_asked, verify
from assay.verifiers.mathematics.compare import compare


def decided(gold: str, answer: str) -> bool | None:
    return compare(gold, answer).equal


@pytest.mark.parametrize(
    ("gold", "answer"),
    [("2.5", r"\frac{27}{11}"), ("4.5", r"1+2\sqrt3"), ("3.1", r"\pi"), ("0.25", "1/4.02"), ("0.125", "0.1254"),
     ("3.14", r"\pi"), ("3.14", "22/7"), ("3.14", "3.1416"), ("0.333", "1/3"), ("2.0", "2.01"), ("5", "4.999")],
)  # fmt: skip
def test_a_decimal_gold_is_exact(gold: str, answer: str) -> None:
    assert decided(gold, answer) is False


@pytest.mark.parametrize(("gold", "answer"), [("2.5", r"\frac52"), ("2.50", "2.5"), ("0.125", "1/8"), ("0.2", "20%")])
def test_what_equals_a_decimal_gold_is_right(gold: str, answer: str) -> None:
    assert decided(gold, answer) is True


@pytest.mark.parametrize(
    ("gold", "answer", "right"),
    [
        ("1/3", "0.333", True),
        ("1/3", "0.33", False),  # two significant digits
        ("1/3", "0.3333333333", True),
        ("1/3", "0.334", False),
        ("2/3", "0.667", True),
        ("2/3", "0.666", False),
        ("2/3", r"0.666\ldots", True),  # says that it is cut off
        ("1/3", "33.3%", True),
        ("1/30", "0.0333", True),
        ("1/30", "0.033", False),
        (r"\pi", "3.14", True),
        (r"\pi", "3.141", False),
        (r"\pi", "3.1416", True),
        (r"\pi", "3", False),
        (r"100\pi", "314", False),  # no decimal
        (r"100\pi", "314.2", True),
        (r"\sqrt{2}", "1.414", True),
        (r"2\sqrt{3}", "3.46", True),
        (r"2\sqrt{3}", "3.5", False),
        (r"-\frac{1}{7}", "-0.143", True),
        (r"\left(\frac13, \pi\right)", "(0.333, 3.142)", True),
        ("1/4", "0.250", True),
        ("1/8", "0.13", False),  # 1/8 is a finite decimal
        ("1234567/1000", "1230.", False),
        ("x/3", "0.333x", False),
    ],
)
def test_where_the_gold_is_no_finite_decimal_an_answer_may_be_rounded(gold: str, answer: str, right: bool) -> None:
    assert decided(gold, answer) is right


@pytest.mark.parametrize(
    ("gold", "answer", "right"),
    [
        (r"\approx 3.14", r"\pi", True),
        (r"x \approx 3.14", "3.1416", True),
        (r"\approx 3.14", "22/7", True),
        (r"\approx 3.14", "3.1", False),
        (r"\approx 3.14", "3.146", False),
        (r"\approx 0.5", "0.46", True),
        (r"\approx 3", "3.2", False),  # no decimal: exact
    ],
)
def test_whatever_rounds_to_a_rounded_gold_is_right(gold: str, answer: str, right: bool) -> None:
    assert decided(gold, answer) is right


@given(value=st.fractions(min_value=-50, max_value=50, max_denominator=500), places=st.integers(2, 6))
def test_rounding_by_hand_agrees(value: Fraction, places: int) -> None:
    shown = (Decimal(value.numerator) / Decimal(value.denominator)).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)
    exact = Fraction(shown) == value
    significant = len(str(abs(int(shown.scaleb(places))))) >= 3
    divisors = value.denominator
    for prime in (2, 5):
        while divisors % prime == 0:
            divisors //= prime
    right = exact or (divisors != 1 and significant)
    assert decided(f"{value.numerator}/{value.denominator}", str(shown)) is right
    off = shown + Decimal(1).scaleb(-places)
    assert decided(f"{value.numerator}/{value.denominator}", str(off)) is False


@pytest.mark.parametrize(
    ("question", "rounded"),
    [
        ("What is the area, to the nearest tenth?", True),
        ("Give two decimal places.", True),
        (r"How long is it? Use $\pi \approx 3.14$.", True),
        ("Round your answer to two digits.", True),
        ("How many rounds are played?", False),
        ("What is it around noon?", False),
        ("What is $3.14 + 0$?", False),
    ],
)
def test_a_question_that_asks_for_rounding_says_that_its_gold_is_rounded(question: str, rounded: bool) -> None:
    assert (as_asked("3.14", question) == r"\approx 3.14") is rounded
    assert as_asked("22/7", question) == "22/7"
    assert (as_asked("3.14", ({"role": "user", "content": question},)) == r"\approx 3.14") is rounded
    problem = Problem("rows", question, {"gold": "3.14"}, "1", provenance="data")
    (verdict,) = verify([(problem, r"\boxed{3.1416}")])
    assert (verdict.status == "ok") is rounded


def test_a_gold_that_is_missing_stays_missing() -> None:
    assert as_asked(None, "to the nearest tenth") is None
    assert as_asked(3.14, "to the nearest tenth") == 3.14
