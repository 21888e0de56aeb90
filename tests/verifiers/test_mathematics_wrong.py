"""What is not the gold is no right answer: letters in their case, tiny differences, wrong answers by the hundred."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.verifiers.mathematics.against_gold import explain
from assay.verifiers.mathematics.compare import compare
from assay.verifiers.mathematics.expressions import TooBig, Unreadable, parse, spelled
from assay.verifiers.mathematics.numeric import Budget, same_value
from bench.wrong_answers import CHANGES, golds, pairs


def decided(gold: str, answer: str) -> bool | None:
    return compare(gold, answer).equal


@pytest.mark.parametrize(
    ("gold", "answer"),
    [(r"\pi(R^2-r^2)", "0"), ("e^{X-x}", "1"), (r"\pi R^2", r"\pi r^2"), ("E^2", "e^2"), ("I+1", "i+1"),
     (r"\sin N", r"\sin n"), ("S", "s"), ("O", "0"), ("Q+1", "q+1"), (r"\sqrt{C}", r"\sqrt{c}"), ("2E", "2e"),
     (r"e^{i\pi}", r"e^{I\pi}"), (r"\ln X", r"\ln x"), ("x_A", "x_a"), (r"\Gamma", r"\gamma"), ("pi", "PI")],
)  # fmt: skip
def test_the_case_of_a_letter_counts(gold: str, answer: str) -> None:
    assert decided(gold, answer) is False


@pytest.mark.parametrize("letter", [*"abcdefghijklmnopqrstuvwxyz", *"KLMNOPQRSTUVWXYZ"])
def test_no_letter_is_a_name_of_a_library(letter: str) -> None:
    """Each is itself, and no other letter, number or constant."""
    for other in ("x" if letter != "x" else "y", letter.swapcase(), "1", "0", r"\pi"):
        assert decided(rf"\sqrt{{2}}+{letter}", rf"\sqrt{{2}}+{other}") is False, other
    assert decided(rf"\sqrt{{2}}+{letter}", rf"{letter}+\sqrt 2") is True


@pytest.mark.parametrize("power", [10, 20, 50, 100, 300, 1_000, 5_000])
@pytest.mark.parametrize("gold", [r"\sqrt2", r"\pi", "2", r"\frac13", r"e^{2}+\ln 3", r"x\sqrt{2}"])
def test_a_tiny_difference_is_a_difference(gold: str, power: int) -> None:
    for sign in "+-":
        assert decided(gold, f"{gold}{sign}10^{{-{power}}}") is False
    assert decided(gold, rf"({gold})(1+10^{{-{power}}})") is False


@pytest.mark.parametrize(
    "answer",
    [r"\sqrt2+e^{-2000}", r"\sqrt2\cos(10^{-100})", r"\sqrt2+\frac{1}{2^{9000}}", r"\sqrt{2+10^{-60}}",
     r"\sqrt2+\sin(10^{-500})", r"\sqrt2\cdot 1.00000000000000000000001", r"\sqrt[1000]{2^{500}+1}"],
)  # fmt: skip
def test_no_function_hides_a_difference(answer: str) -> None:
    assert decided(r"\sqrt2", answer) is False


@pytest.mark.slow
def test_three_hundred_wrong_answers_are_refused() -> None:
    made = list(pairs(300, seed=4))
    found = explain([(one.gold, rf"\boxed{{{one.answer}}}") for one in made])
    assert [one for one, told in zip(made, found, strict=True) if told.verdict.status != "fail"] == []


@pytest.mark.slow
def test_three_thousand_wrong_answers_are_refused() -> None:
    made = list(pairs(3_000, seed=15))
    assert len({(one.gold, one.answer) for one in made}) == 3_000
    assert {one.by for one in made} == {"crossed", *(name for changes in CHANGES.values() for name in changes)}
    found = explain([(one.gold, rf"\boxed{{{one.answer}}}") for one in made])
    assert [one for one, told in zip(made, found, strict=True) if told.verdict.status != "fail"] == []


def test_the_golds_of_which_wrong_answers_are_made_are_read() -> None:
    """Each equals itself in other clothes, so that it is not refused for want of reading."""
    for gold in golds():
        clothed = gold.text.replace(r"\frac", r"\dfrac").replace(",", ", ") + " "
        if r"\!" not in clothed and gold.text != "1,234":
            assert decided(gold.text, rf"${clothed}$") is True, gold.text
        assert explain([(gold.text, rf"\boxed{{{gold.text}}}")])[0].verdict.status == "ok"


# --- the end of every comparison ----------------------------------------------------------------------------

HOSTILE = [
    "x^x^x^x^x^x", r"x^{x^{x^{x^{x^{x}}}}}", "(x!)!", r"\sqrt{9^{9^9}}", r"\sin(10^{900}\pi)", r"e^{e^{e^{10}}}",
    r"(1+10^{-900})^{10^{900}}", r"\binom{x}{10^{8}}", r"\tan(\pi/2)", r"\sqrt[1000000]{2}", "2^{1/1000000}", "i^i",
    "+".join([r"\sin x"] * 150), r"\sin(" * 45 + "x" + ")" * 45, "|" * 40 + "x" + "|" * 40, r"\pm" * 50 + "1",
    "x<" * 100 + "1", "a=" * 200 + "1", r"\cup".join(["(1,2)"] * 200), "one hundred " * 150, "1:" * 400 + "1",
    "-" * 1900,
    "it is " * 300 + "5", "5 " + "cm " * 400, "!" * 900, "'" * 900, r"\frac12" * 250, ", ".join(["x^x^x^x^x"] * 60),
    r"\lfloor x^{50} \rfloor", r"\log_{1}{5}", "0^0", r"\frac{1}{x-x}", "1e25000", "0." + "3" * 1900,
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("gold", ["7", r"\sqrt{2}", "x^2+1", "(1,2)", r"\{1,2\}", "x>5", "5 cm", r"\sin x"])
def test_hostile_answers_are_refused_within_a_budget_of_steps(gold: str) -> None:
    for answer in HOSTILE:
        assert decided(gold, answer) is not True, answer
        assert decided(answer, gold) is not True, answer


def test_the_budget_is_one_for_all_parts() -> None:
    budget = Budget(300)
    tree = parse(r"\sin(\cos(\sin(\cos x)))")
    assert same_value(tree, tree, budget) is True
    later = [same_value(tree, tree, budget) for _ in range(20)]
    assert set(later) <= {True, None} and later[-1] is None  # nothing is left to be spent


@given(text=st.text(alphabet="0123456789+-*/^(){}|.,xyei!%_' \\sqrtfacpin", max_size=60))
def test_parsing_ends_with_a_tree_or_without(text: str) -> None:
    try:
        tree = parse(text)
    except (Unreadable, TooBig):
        return
    assert spelled(tree)
    assert same_value(tree, tree, Budget(500)) in (True, None)


@pytest.mark.parametrize("answer", [r"\tanh(200)", r"\coth(500)", r"\tanh(20000)", r"\frac{\sinh 300}{\cosh 300}"])
def test_what_comes_near_to_one_is_not_one(answer: str) -> None:
    """tanh x = 1 - 2 e^(-2x) + ...: below 1 for every x, though hundreds of digits do not show it."""
    (one,) = explain([("1", rf"\boxed{{{answer}}}")])
    assert one.verdict.status == "fail"


@pytest.mark.parametrize("unit", ["hours per second", "hours per hour", "m / km"])
def test_units_that_cancel_are_no_missing_unit(unit: str) -> None:
    """The number before them is not their value: 43 hours per second are 154,800."""
    for gold in ("43", r"43\text{ hours}", "43 kg"):
        assert decided(gold, rf"43\text{{ {unit}}}") is not True
