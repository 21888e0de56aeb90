"""Brackets, separators, order and ranges of letters: two answers are equal only if all of these are."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.verifiers.mathematics.against_gold import explain
from assay.verifiers.mathematics.compare import compare
from bench.wrong_answers import golds


def decided(gold: str, answer: str) -> bool | None:
    return compare(gold, answer).equal


def verdict(gold: str, answer: str) -> tuple[str, str]:
    (one,) = explain([(gold, rf"\boxed{{{answer}}}")])
    return one.verdict.status, one.verdict.kind


# --- structures ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Node:
    """Parts in brackets: in order, unless these are the braces of a set."""

    brackets: tuple[str, str]
    parts: tuple[Node | int, ...]

    def written(self, mark: str) -> str:
        inner = mark.join(str(part) if isinstance(part, int) else part.written(mark) for part in self.parts)
        return f"{self.brackets[0]}{inner}{self.brackets[1]}"


def same(one: Node | int, other: Node | int) -> bool:
    """By definition, without any reading of text."""
    if isinstance(one, int) or isinstance(other, int):
        return one == other
    if one.brackets != other.brackets or len(one.parts) != len(other.parts):
        return False
    if one.brackets[0] != r"\{":
        return all(map(same, one.parts, other.parts))
    rest = list(other.parts)
    for part in one.parts:
        found = next((at for at, candidate in enumerate(rest) if same(part, candidate)), None)
        if found is None:
            return False
        rest.pop(found)
    return True


leaf = st.integers(-9, 99)
BRACKETS = [("(", ")"), ("[", "]"), ("[", ")"), ("(", "]")]


def nodes(parts: st.SearchStrategy[Node | int]) -> st.SearchStrategy[Node]:
    pairs = st.builds(Node, st.sampled_from(BRACKETS), st.tuples(parts, parts))
    tuples = st.builds(lambda p: Node(("(", ")"), tuple(p)), st.lists(parts, min_size=2, max_size=4))
    sets = st.builds(lambda p: Node((r"\{", r"\}"), tuple(p)), st.lists(parts, min_size=2, max_size=4, unique=True))
    return pairs | tuples | sets


trees = nodes(leaf | nodes(leaf))


@st.composite
def neighbours(draw: st.DrawFn) -> tuple[Node, Node]:
    """A structure and one that differs a little: in its brackets, in its order, in how its parts are grouped."""
    one = draw(trees)
    parts, brackets = list(one.parts), one.brackets
    change = draw(st.sampled_from(["order", "brackets", "grouping", "another"]))
    if change == "order":
        parts = draw(st.permutations(parts))
    elif change == "brackets":
        brackets = draw(st.sampled_from([*(BRACKETS if len(parts) == 2 else BRACKETS[:1]), (r"\{", r"\}")]))
    elif change == "grouping" and len(parts) > 2:
        parts = [Node(("(", ")"), tuple(parts[:2])), *parts[2:]]
    else:
        return one, draw(trees)
    return one, Node(brackets, tuple(parts))


@given(pair=neighbours(), marks=st.tuples(*[st.sampled_from([",", ", ", ";", "; "])] * 2))
def test_structures_are_equal_only_if_brackets_order_and_grouping_are(
    pair: tuple[Node, Node], marks: tuple[str, str]
) -> None:
    texts = [node.written(mark) for node, mark in zip(pair, marks, strict=True)]
    assert decided(texts[0], texts[1]) is same(*pair), texts
    assert decided(texts[1], texts[0]) is same(*pair), texts


@given(a=st.integers(0, 10**6), b=st.integers(0, 99), mark=st.sampled_from([",", ";", ", ", "; "]))
def test_two_numbers_are_not_one_with_a_point(a: int, b: int, mark: str) -> None:
    for text in (f"{a}{mark}{b}", f"({a}{mark}{b})"):
        assert decided(text, f"{a}.{b}") is False and decided(f"{a}.{b}", text) is False


@given(rows=st.lists(st.lists(leaf, min_size=2, max_size=3), min_size=2, max_size=3, unique_by=tuple))
def test_a_semicolon_separates_more_than_a_comma(rows: list[list[int]]) -> None:
    nested = "; ".join(", ".join(map(str, row)) for row in rows)
    flat = ", ".join(str(n) for row in rows for n in row)
    assert decided(nested, flat) is False and decided(f"({nested})", f"({flat})") is False
    assert decided(nested, ", ".join(f"({', '.join(map(str, row))})" for row in rows)) is True


@pytest.mark.parametrize(
    ("gold", "answer"),
    [("(4;7)", "(7;4)"), ("(4;7;9)", "(9;4;7)"), (r"(\frac13;6)", r"(6;\frac13)"), ("(2;5),(6;8)", "(5;2),(8;6)"),
     ("(5;2)", r"\{2;5\}"), (r"\{2;5\}", "(5;2)"), ("[1,2,3)", "(1,2,3]"), ("(1,2;3,4)", "(1,2,3,4)"),
     ("(1;2)", "[1;2]")],
)  # fmt: skip
def test_a_semicolon_keeps_the_order_of_a_tuple(gold: str, answer: str) -> None:
    assert decided(gold, answer) is False


@pytest.mark.parametrize(
    ("gold", "answer"),
    [("(4;7)", "(4,7)"), ("(2;5),(6;8)", "(6,8),(2,5)"), ("-12;-11", r"\{-11,-12\}"), (r"(-\infty;3]", r"(-\infty,3]"),
     ("(3,1),(1,3)", "(1,3),(3,1),(1,3)")],
)  # fmt: skip
def test_one_structure_in_two_notations(gold: str, answer: str) -> None:
    assert decided(gold, answer) is True


# --- every gold is itself -----------------------------------------------------------------------------------

CLOTHES = {
    "spaces": lambda text: re.sub(r"([-+=<>,;])", r" \1 ", text),
    "sized brackets": lambda text: re.sub(r"(?<![\\a-z{])([(\[])(.*)([)\]])", r"\\left\1\2\\right\3", text),
    "display fractions": lambda text: text.replace(r"\frac", r"\dfrac").replace(r"\ddfrac", r"\dfrac"),
    "thin spaces": lambda text: text.replace(", ", r",\,"),
    "dollars": lambda text: f"${text}$",
    "braces": lambda text: f"{{{text}}}",
}


@pytest.mark.parametrize("clothes", CLOTHES)
def test_a_gold_is_itself_in_other_clothes(clothes: str) -> None:
    for gold in golds():
        worn = CLOTHES[clothes](gold.text)
        if r"\!" not in gold.text and not (clothes == "spaces" and re.search(r"\d,\d{3}", gold.text)):
            assert decided(gold.text, worn) is True, (gold.text, worn)


# --- ranges of letters --------------------------------------------------------------------------------------

RANGES = {
    "Z": [
        r"{} \in \mathbb{{Z}}",
        r"{} \in Z",
        r"\text{{ where }} {} \text{{ is an integer}}",
        r"{} = 0, \pm 1, \ldots",
        r"\text{{ for any integer }} {}",
        r"{} ∈ ℤ",
    ],
    "N": [r"{} \in \mathbb{{N}}", r"{} \in N", r"\text{{ for every natural number }} {}"],
    "Z+": [
        r"{} \in \mathbb{{Z}}^+",
        r"{} \in \mathbb{{N}}^*",
        r"{} \text{{ a positive integer}}",
        r"{} = 1, 2, 3, \dots",
    ],
    "N0": [
        r"{} \in \mathbb{{Z}}_{{\geq 0}}",
        r"\text{{ with }} {} \text{{ a non-negative integer}}",
        r"{} = 0, 1, 2, \ldots",
    ],
    "R": [r"{} \in \mathbb{{R}}"],
}
BODIES = [r"3{}\pi", r"x = \frac{{\pi}}{{4}} + {}\pi", r"5{} + 2", r"m = 5{} + 2"]


@given(st.data())
def test_the_range_of_a_letter_counts_and_its_name_does_not(data: st.DataObject) -> None:
    body = data.draw(st.sampled_from(BODIES))
    names = [data.draw(st.sampled_from(sorted(RANGES))) for _ in range(2)]
    letters = [data.draw(st.sampled_from("knlt")) for _ in range(2)]
    texts = [
        f"{body.format(letter)}, {data.draw(st.sampled_from(RANGES[name])).format(letter)}"
        for name, letter in zip(names, letters, strict=True)
    ]
    assert decided(texts[0], texts[1]) is (names[0] == names[1]), texts


@pytest.mark.parametrize(
    ("gold", "answer", "right"),
    [
        (r"3k\pi, k\in Z", r"3k\pi", True),  # the range that is usual for the letter
        (r"3k\pi, k\in Z", r"3n\pi", True),
        (r"3k\pi", r"3k\pi, k \in \mathbb{Z}", True),
        (r"3k\pi, k\in N", r"3k\pi", False),
        (r"3k\pi", r"3k\pi, k \in N", False),
        (r"3k\pi, k\in Z", r"3x\pi", False),
        (r"3k\pi, k\in Z", r"3k\pi+n, k\in Z", False),
        (r"a+k, k\in Z", r"k+a, k\in Z", True),
        (r"a+k, k\in Z", r"k+a, a\in Z", False),  # another letter is bound
        (r"(s-t, s), s, t \in \mathbb{R}", r"(a-b, a), a, b \in \mathbb{R}", True),
        (r"(s-t, s), s, t \in \mathbb{R}", r"(b-a, a), a, b \in \mathbb{R}", False),
        (r"\{x | x = 2k\pi, k\in Z\}", r"x=2n\pi, n \in Z", True),
        (r"x = k\pi \text{ or } x = \frac{\pi}{4}+k\pi, k \in Z", r"x = \frac{\pi}{4}+n\pi, x = n\pi, n \in Z", True),
    ],
)
def test_families_of_solutions(gold: str, answer: str, right: bool) -> None:
    assert decided(gold, answer) is right


# --- what our grammar does not have -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gold", "answer"), [("m!!", "(m!)!"), (r"4\ 3", r"3\ 4"), ("y^2", "y^2!!"), ("2 x 3 5", "2 x 5 3")]
)
def test_the_library_is_not_asked_where_it_sees_another_structure(gold: str, answer: str) -> None:
    assert verdict(gold, answer)[0] == "fail" and verdict(gold, gold) == ("ok", "")


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        (r"\int_0^1 2x dx", "(1,2)"),
        (r"\int_0^1 2x dx", "1, 1"),
        (r"\sum_{k=1}^3 k", r"\{6\}, 6"),
        (r"\int_0^1 2x dx", "101_2"),
    ],
)
def test_an_answer_with_parts_is_no_expression(gold: str, answer: str) -> None:
    assert decided(gold, answer) is False


def test_a_double_factorial_is_a_product_of_every_other_number() -> None:
    assert decided("7!!", "105") is True and decided("8!!", "384") is True  # 7*5*3, 8*6*4*2
    assert decided("3!!", "720") is False and decided("3!!!", "3") is not True
    assert decided("3", "3!!") is not True  # a mere exclamation


@pytest.mark.parametrize(
    ("gold", "answer", "right"),
    [
        ("1", r"\lim_{x \to 0} \frac{\sin x}{x} = 1", True),
        ("2", r"17 \bmod 5 = 2", True),
        ("2", r"17 \bmod 5 = 2 = 3", False),
        ("2", r"\text{wrong} = 2", False),
        (r"\begin{pmatrix}6\\8\end{pmatrix}",
         r"\begin{pmatrix}1\\2\end{pmatrix}+\begin{pmatrix}5\\6\end{pmatrix}", True),
        (r"\begin{pmatrix}6\\8\end{pmatrix}", r"2\begin{pmatrix}3\\4\end{pmatrix}", True),
        (r"\begin{pmatrix}6\\8\end{pmatrix}", r"2\begin{pmatrix}4\\3\end{pmatrix}", False),
        (r"\begin{pmatrix}2&1\\4&3\end{pmatrix}",
         r"\begin{pmatrix}1&2\\3&4\end{pmatrix}\begin{pmatrix}0&1\\1&0\end{pmatrix}", True),
        (r"\begin{pmatrix}2&1\\4&3\end{pmatrix}",
         r"\begin{pmatrix}0&1\\1&0\end{pmatrix}\begin{pmatrix}1&2\\3&4\end{pmatrix}", False),  # its rows are swapped
    ],
)  # fmt: skip
def test_what_is_left_to_be_worked_out(gold: str, answer: str, right: bool) -> None:
    assert decided(gold, answer) is right
