"""How mathematics answers are written: right ones in many notations are accepted, what says something else is not."""

from __future__ import annotations

from fractions import Fraction

import pytest

from assay.verifiers.mathematics.against_gold import explain
from assay.verifiers.mathematics.arithmetic import number_of
from assay.verifiers.mathematics.compare import compare
from assay.verifiers.mathematics.expressions import parse
from assay.verifiers.mathematics.writing import find


def decided(gold: str, answer: str) -> bool | None:
    return compare(gold, answer).equal


def verdict(gold: str, response: str) -> str:
    (one,) = explain([(gold, response)])
    return one.verdict.status


# --- numbers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gold", [r"10,\!080", "10,080", "10080", "10{,}080", r"10\,080", r"10,\,080", "10 080"])
@pytest.mark.parametrize("answer", [r"10,\!080", "10,080", "10080", "10{,}080", r"10\,080", "10 080", "10080.0"])
def test_thousands_in_groups_are_one_number_however_the_groups_are_set_apart(gold: str, answer: str) -> None:
    assert decided(gold, answer) is True


@pytest.mark.parametrize(
    ("gold", "answer"),
    [("10080", "10, 080"), ("(1,234)", "1234"), ("1234", "(1,234)"), (r"\{1,234\}", "1234"), ("32349", "32, 349")],
)
def test_a_list_is_no_number_in_groups(gold: str, answer: str) -> None:
    assert decided(gold, answer) is False


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        (r"\frac{\sqrt{3}}{2}", r"\frac{\sqrt3}2"),
        (r"\frac{\sqrt{3}}{2}", r"\frac{1}{2}\sqrt 3"),
        (r"\sqrt{12}", "√12"),
        (r"2\sqrt{3}", "2sqrt(3)"),
        ("1/3", r"0.\dot3"),
        ("1/3", r"0.\dot{3}"),
        ("1/7", r"0.\dot{1}4285\dot{7}"),
        ("1/3", r"0.\overline{3}"),
        ("1/3", r"0.\bar3"),
        ("1/3", "0.(3)"),
        ("1/6", r"0.1\overline{6}"),
        ("3/2", r"1\,\frac{1}{2}"),
        ("3/2", "1 1/2"),
        ("1234.5", "1.234,5"),
        ("6.02e23", r"6.02 \times 10^{23}"),
        (r"\binom{10}{3}", r"{10 \choose 3}"),
        ("-2", r"\sqrt[3]{-8}"),
        ("-1", "i^2"),
        (r"\frac{\pi}{2}", r"\sin^{-1} 1"),
        ("3", r"\log_2 8"),
        ("3", r"\log 8/\log 2"),
        (r"x/2", "0.5x"),
        (r"\tan^2 y+1", r"\sec^2(y)"),
        (r"\frac{1}{3\sqrt[3]{x}^2}", r"\frac{1}{3x^{2/3}}"),
        (r"\sqrt{2}+\sqrt{3}", r"\sqrt{5+2\sqrt{6}}"),
    ],
)
def test_one_number_or_function_in_two_notations(gold: str, answer: str) -> None:
    assert decided(gold, answer) is True and decided(answer, gold) is True


@pytest.mark.parametrize(
    ("number", "words"),
    [(3, "three"), (21, "twenty-one"), (105, "one hundred and five"), (0, r"\text{Zero}"), (-4, "minus four"),
     (2_000_013, "two million thirteen"), (40_600, "forty thousand six hundred")],
)  # fmt: skip
def test_numbers_in_words(number: int, words: str) -> None:
    assert decided(str(number), words) is True and decided(words, str(number)) is True
    assert decided(str(number + 1), words) is False


@pytest.mark.parametrize(
    "words", ["one two", "twenty eleven", "hundred", "five hundred hundred", "and five", "three and"]
)
def test_words_that_are_no_number(words: str) -> None:
    assert decided("12", words) is False


@pytest.mark.parametrize(
    ("gold", "answer"),
    [("1,3", "1.3"), ("1.3", "1,3"), ("12,14", "12.14"), ("300,7000", "300.7"), ("0,2", r"\frac15"), ("0,111", "111"),
     ("1000.99", "1000,99"), ("7", "2,5"), ("1000.99", "1000, 99")],
)  # fmt: skip
def test_a_comma_separates_two_numbers_and_marks_no_decimal(gold: str, answer: str) -> None:
    assert decided(gold, answer) is False


# --- names, relations, regions ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        ("5", "5=x"),
        ("x=5", "5"),
        ("x=5", "5=x"),
        ("5", r"\text{Area}=5"),
        ("5", r"|AB|=5"),
        ("30", r"\angle ABC = 30^\circ"),
        ("x^2+1", "f(x)=x^2+1"),
        ("y=2x+3", "f(x)=2x+3"),
        ("y=2x+3", "2x-y+3=0"),
        (r"\frac{NO}{BO}=\frac{1}{\sqrt{6}}", r"\frac{1}{\sqrt6}"),
        ("V_{1}:V_{2}=11:21", "11:21"),
        ("7", "x=5+2=7"),
        ("7", "5+2=7"),
        ("a=b=c", "c=b=a"),
        (r"\frac{\sqrt{3}}{3}", r"\frac{\sqrt3}{3}\approx 0.577"),
        ("[-2,7]", r"x\in[-2,7]"),
        (r"-2\le x\le 7", r"x \in [-2,7]"),
        ("(3,2)", "(p,q)=(3,2)"),
        ("(p,q)=(3,2)", "(3,2)"),
        ("(p,q)=(3,2)", "p=3, q=2"),
        ("p=3, q=2", "q=2, p=3"),
        ("p=5,q=2;p=7,q=2", "(5,2),(7,2)"),
        (r"\{-2021,2021\}", r"x\in\{\pm2021\}"),
        (r"\pm 3", "x=3 or x=-3"),
        (r"1\pm\sqrt{2}", r"1+\sqrt2, 1-\sqrt2"),
        ("x>5", r"(5,\infty)"),
        ("x>5", "5<x"),
        ("-x>=-1", r"x \leq 1"),
        (r"x\neq 5", r"(-\infty,5)\cup(5,\infty)"),
        (r"\mathbb{R}\setminus\{5\}", r"x \ne 5"),
        (r"(-\infty,1)\cup(2,\infty)", "x<1 or x>2"),
        ("(1,3)", "x>1 and x<3"),
        (r"1\leq|z|\leq 2", r"z\in[-2,-1]\cup[1,2]"),
        (r"\{x|-2\leq x < 1\}", "[-2,1)"),
        ("[1,2)", "[1,2["),
        (r"\mathbb{R}", r"(-\infty,\infty)"),
        (r"\{1,2,3\}", r"\{1,2\}\cup\{3\}"),
        (r"\frac{\pi}{2}+2\pi k", r"x=\frac{\pi}{2}+2k\pi, k\in\mathbb{Z}"),
        ("x^2+y^2=1", "y^2=1-x^2"),
        (r"\begin{cases}x=1\\y=2\end{cases}", "(1,2)"),
    ],
)
def test_what_a_relation_says(gold: str, answer: str) -> None:
    assert decided(gold, answer) is True


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        ("x=5", "y=5"),
        ("x=5", "2x=10"),  # still to be solved
        ("7", "a+2z=5+2=7"),
        ("7", "x=5+1=7"),
        ("1/3", r"x=5+5+1=1/3"),
        ("2x+z=1", "1"),
        ("x<3", "y<3"),
        ("x<3", r"x\leq 3"),
        ("x<3", "x>3"),
        ("x+y<3", "y>3-x"),
        (r"x\in[1,2]", r"y\in[1,2]"),
        ("p=3, q=2", "q=3, p=2"),
        ("AB=4, CD=5", "5, 4"),
        ("f(x)", "f(y)"),
        ("5", r"\neq 5"),
        ("5", ">5"),
        ("5", "5="),
        ("5", "5, 5"),
        ("5", "5 or 6"),
        ("(1,2]", "[1,2)"),
        ("(1,2)", "(2,1)"),
        ("12:00", "1:00"),
        ("3:40", "6:80"),
    ],
)
def test_what_a_relation_does_not_say(gold: str, answer: str) -> None:
    assert decided(gold, answer) is False


# --- matrices, choices, prose, boxes ------------------------------------------------------------------------


def test_a_matrix_by_whatever_brackets_it_is_set() -> None:
    gold = r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}"
    for answer in (
        r"\left(\begin{array}{cc} 1 & 2 \\ 3 & 4 \end{array}\right)",
        r"\left[\begin{array}{rr}1&2\\3&4\\\end{array}\right]",
        r"\begin{bmatrix} 1 & \frac42 \\ 3 & 4 \end{bmatrix}",
        r"A = \begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}",
    ):
        assert decided(gold, answer) is True, answer
    assert decided(gold, r"\left|\begin{array}{cc} 1 & 2 \\ 3 & 4 \end{array}\right|") is False  # a determinant
    assert decided(gold, r"\begin{pmatrix} 1 & 3 \\ 2 & 4 \end{pmatrix}") is False


@pytest.mark.parametrize(
    ("gold", "answer", "right"),
    [
        ("12", r"\textbf{(C)}\ 12", True),
        ("C", r"\textbf{(C)}\ 12", True),
        (r"\textbf{(C)}\ 12", "C", True),
        (r"\textbf{(C)}\ 12", "12", True),
        (r"\textbf{(C)}\ 12", r"\textbf{(B)}\ 12", False),
        (r"\textbf{(C)}\ 12", r"\textbf{(C)}\ 13", False),
        ("13", r"\textbf{(C)}\ 12", False),
        ("C", "c", False),
        ("(A)+(B)", "A", False),
    ],
)
def test_a_choice_with_what_is_behind_it(gold: str, answer: str, right: bool) -> None:
    assert decided(gold, answer) is right


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        (r"\text{The answer is } 3", True),
        (r"\text{The answer is 3}", True),
        ("The final answer is: 3", True),
        ("Answer: 3", True),
        (r"n = 3 \text{ apples}", True),
        (r"\text{The answer is not } 3", False),
        (r"\text{The wrong answer is } 3", False),
        (r"\text{It is at least } 3", False),
        (r"3 \text{ is wrong}", False),
        (r"3 \text{ or so}", False),
        (r"3 \text{ times two}", False),
    ],
)
def test_prose_in_the_box(answer: str, right: bool) -> None:
    assert (verdict("3", rf"So \boxed{{{answer}}}.") == "ok") is right


@pytest.mark.parametrize(
    ("gold", "response", "right"),
    [
        ("1,2", r"\boxed{1} and \boxed{2}", True),
        ("(1,2)", r"$x = \boxed{1}$, $y = \boxed{2}$", True),
        ("(2,2), (6,2)", r"$$\boxed{(2, 2)} \quad \text{and} \quad \boxed{(6, 2)}$$", True),
        ("2,3,5", r"\[ \boxed{2}, \boxed{3}, \boxed{5} \]", True),
        ("2", r"\boxed{1} or \boxed{2}", False),  # a list that is sprayed is a list
        ("2", r"First I had \boxed{1}. Then I saw \boxed{2}.", True),
        ("2", r"\boxed{2}, \boxed{2}", True),
        ("1,2", r"$\boxed{1}\boxed{2}$", True),
        ("1,2", r"\boxed{1} papers and \boxed{2} bins", True),
        ("(3,3), (1,1)", r"$\boxed{(3, 3)} \text{ for part (a) and } \boxed{(1, 1)}$", True),
        ("2", "\\boxed{1}\n\n\\boxed{2}", True),
        ("2", r"\boxed{1} and then it was \boxed{2}", True),
        ("2,3", r"\boxed{1} is what I thought, but \boxed{2} and \boxed{3}", True),
    ],
)
def test_boxes_that_belong_together_are_a_list(gold: str, response: str, right: bool) -> None:
    assert (verdict(gold, response) == "ok") is right


def test_a_final_answer_that_is_named_after_the_boxes_is_the_answer() -> None:
    found = find(r"Half of it is \boxed{200}. Final Answer: The final answer is $455$. I hope it is correct.")
    assert (found.text, found.mark) == ("455", "anchor")
    assert find(r"The final answer is $455$, or \boxed{200}").text == "200"


def test_the_only_formula_of_a_line_is_what_it_says() -> None:
    assert find("We find that $x < 3$.").text == "x < 3"
    assert find("We do not find that $x < 3$.").text == "We do not find that $x < 3$."
    assert find("Of $x$ we find that $x < 3$.").text == "Of $x$ we find that $x < 3$."


# --- units and bases ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gold", "answer", "right"),
    [
        (r"\$5", "5 cents", False),
        (r"5\text{ dollars}", "5 cents", False),
        (r"\$5", "500 cents", True),
        (r"\$5", "5", True),
        (r"\$18.00", "$18$", True),
        (r"\$18.00", r"\$18", True),
        (r"5\text{ cents}", r"\$5", False),
        (r"5\text{ cents}", r"\$0.05", True),
        ("0.05 m", "5 cm", True),
        ("5 cm", "5 m", False),
        (r"5\text{ cm}^2", "5 square centimeters", True),
        (r"5\text{ cm}^2", "5 cm", False),
        ("60 mph", "60 miles per hour", True),
        ("60 mph", "60 km/h", False),
        ("2 hours", "120 minutes", True),
        ("5", r"5\text{ tenths}", False),
        ("5", "5 gross", False),
        ("720", "5 gross", True),
        ("5", "5 dozen", False),
        ("5", r"5\text{ is wrong}", False),
        ("5", "5 n", False),
        ("5", "5/m", False),
        ("5", r"5\text{ units}", True),
        ("5", r"5\text{ students}", True),
        (r"5\text{ any words}", "5", True),  # the words of a gold are trusted
        ("5 apples", "5 oranges", False),
        (r"90^\circ", "90", True),
        (r"90^\circ", r"90\text{ radians}", False),
        ("5", "5%%", False),
    ],
)
def test_what_stands_behind_a_number(gold: str, answer: str, right: bool) -> None:
    assert decided(gold, answer) is right


@pytest.mark.parametrize(
    ("gold", "answer", "right"),
    [
        ("101", "101_2", False),
        ("5", "101_2", False),
        ("101_2", "101_{2}", True),
        ("101_2", "(101)_{2}", True),
        ("101_{2}", r"101_{\text{two}}", True),
        ("101_2", "101", False),
        ("101_2", "101_3", False),
        ("2A5_{16}", "2A5_{16}", True),
        ("101", "101_{10}", True),
    ],
)
def test_digits_in_a_base(gold: str, answer: str, right: bool) -> None:
    assert decided(gold, answer) is right


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        ("2e^{5x^2}", "e^{5x^2}+e^{5x^2}"),
        ("6e^{6(y^2+x^2)}", "6e^{6x^2+6y^2}"),
        ("12xe^{6x^2}", r"12x\cdot e^{6x^2}"),
        ("2e^{x^6}", "e^{x^6}+e^{x^6}"),
        (r"4e^{\cosh 4x}\sinh 4x", r"4\sinh(4x)e^{\cosh(4x)}"),
    ],
)
def test_exponentials_that_grow_beyond_every_precision_are_compared_where_they_have_not(gold: str, answer: str) -> None:
    (right,) = explain([(gold, rf"\boxed{{{answer}}}")])
    assert right.verdict.status == "ok", right
    (wrong,) = explain([(gold, rf"\boxed{{{answer} + 10^{{-80}}}}")])
    assert wrong.verdict.status == "fail", wrong


@pytest.mark.parametrize("answer", [r"{9 \over 4}", r"x={9\over 4}", r"\frac{9}{2}\cdot{1 \over 2}", r"2{1\over 4}"])
def test_fractions_are_read_that_stand_over_one_another(answer: str) -> None:
    assert compare(r"\frac{9}{4}", answer).equal is True
    assert compare(r"\frac{4}{9}", answer).equal is False


def test_what_stands_behind_the_last_approximation_is_left_out() -> None:
    chain = r"x = \frac13 = \frac26 \approx 0.33"
    assert compare(r"\frac13", chain).equal is True and compare("0.33", chain).equal is not True


@pytest.mark.parametrize(
    ("gold", "answer", "equal"),
    [
        ("3:4", "6:8", True),
        (r"\frac34", "3:4", True),
        ("12:30", "24:60", False),
        (r"\frac{12}{30}", "12:30", False),
    ],
)
def test_a_ratio_is_a_proportion_and_a_time_of_day_is_none(gold: str, answer: str, equal: bool) -> None:
    assert (compare(gold, answer).equal is True) == equal


@pytest.mark.parametrize(
    ("text", "root"),
    [
        (r"\sqrt[3]{27}", "3"),
        (r"\sqrt[3]{-8}", "-2"),
        (r"\sqrt[5]{\frac{243}{32}}", "3/2"),
        (r"1024^{1/10}", "2"),
        (r"\sqrt[3]{1000000007000000016333333346}", None),
        (r"\sqrt[4]{17}", None),
    ],
)
def test_roots_that_are_rational_are_exact(text: str, root: str | None) -> None:
    assert number_of(parse(text)) == (None if root is None else Fraction(root))


@pytest.mark.parametrize("n", [20, 513, 600, 1000])
def test_binomials_of_large_numbers_are_decided(n: int) -> None:
    """By their definition: b over 2 is b (b - 1) / 2."""
    product = rf"({n}+\sqrt{{2}})({n - 1}+\sqrt{{2}})"
    assert compare(rf"\binom{{{n}+\sqrt{{2}}}}{{2}}", rf"\frac{{{product}}}{{2}}").equal is True
    assert compare(rf"\binom{{{n}+\sqrt{{2}}}}{{2}}", rf"\frac{{{product}+1}}{{2}}").equal is False
