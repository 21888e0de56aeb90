"""What a text concludes that marks no answer: one value, or nothing."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from assay.verifiers.mathematics.against_gold import explain
from assay.verifiers.mathematics.conclusions import chosen, concluded
from assay.verifiers.mathematics.writing import find


def verdict(gold: str, response: str) -> str:
    (one,) = explain([(gold, response)])
    return one.verdict.status


STATED = [
    "So there are {} ways.",
    "We add them.\nTherefore, the probability is ${}$.",
    "We get $x = {}$.",
    "The result is {}. I hope it is correct.",
    "First we have 70001.\nThen {} people are left.",
    "Hence the value is **{}**.",
    "Answer:\n{}",
    "The answer is:\n\n$$\n{}\n$$",
    "Thus x is {}.",
    "It is not 70001, it is {}.",
    "We add.\n\\[ {} \\]\nThank you! <|im_end|>",
    "因此，一共有{}个。",
    "La réponse est donc {}.",
    "Choosing 3 of the 70001 points, the number is {}.",
]
HEDGED = [
    "It is {a} or {b}.",
    "It is either {a} or {b}.",
    "{a} and {b}",
    "I think {a}. Or {b}.",
    "Perhaps {a}, perhaps {b}.",
    "So it is {a}, which is {b}.",
    "The result: {a} = {b}",
    "First try [{a}], second try [{b}].",
    "**{a}** **{b}**",
    "I got {a} but then {b}.",
    "It is $ {a} $ or $ {b} $ here.",
    "If it is {a}, it is not {b}.",
]
REFUSED = [
    "The answer is not {}.",
    "It's at least {}.",
    "about {} people",
    "There are {} more than that.",
    "It is {}. That is wrong.",
    "The result is {}/70001.",
    "The result is {} tenths.",
    "It is between {} and 70001.",
    "The value is {}^2.",
    "If it is {}, we win.",
    "It is {} times 70001.",
    "we get {}x",
    "Then we have (1,{}]",
    "it is {}!",
    "It costs 70001 more than {}.",
    "it is 1{}",
    "in base 3 it is {}_7",
    "the answer is {} squared",
    "it is 0.{}",
    "Answer $ \n {} \n $",
    "We get 70001 and not {}.",
    r"so \{{ {}, 70001 \}}",
    "So y - {}",
    "the {} dozen",
    "Is it {}? No.",
]
number = st.integers(2, 9999)


@given(n=number, template=st.sampled_from(STATED))
def test_the_value_of_the_last_statement_is_the_answer(n: int, template: str) -> None:
    response = template.format(n)
    assert verdict(str(n), response) == "ok" and verdict(str(n + 1), response) == "fail"
    assert verdict("70001", response) == "fail"


@given(a=number, b=number, template=st.sampled_from(HEDGED))
def test_whoever_names_two_values_has_named_none(a: int, b: int, template: str) -> None:
    b += b == a
    response = template.format(a=a, b=b)
    accepted = [verdict(str(n), response) for n in (a, b)].count("ok")
    assert accepted == 0, response


@given(n=number, template=st.sampled_from(REFUSED))
def test_a_value_that_is_denied_weakened_or_a_part_of_another_is_no_answer(n: int, template: str) -> None:
    assume("!" not in template or n not in (1, 2))  # which are their own factorials
    response = template.format(n)
    assert verdict(str(n), response) == "fail", response


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("The solutions are 2 and 3.", ("2, 3",)),
        ("So they paid $1,200 in all.", ("$1,200",)),
        ("So it is 5 cm long.", ("5 cm long",)),
        ("So y = 5 in the end.", ("y = 5",)),
        ("So 100 - 30 = 70", ("100 - 30 = 70",)),
        ("The pair $(x, y)$ is $(7, 6)$.", ("(7, 6)",)),
        ("Nothing here.\nSorry.", ()),
        ("It is 5.\nNo, that is wrong.", ()),
        ("x = 5", ()),  # no sentence
    ],
)
def test_what_a_text_concludes(text: str, values: tuple[str, ...]) -> None:
    assert concluded(text) == values


@pytest.mark.parametrize(
    ("gold", "response", "right"),
    [
        ("x=5", "So y = 5 in the end.", False),
        ("(1,2)", r"the set is \{1,2\} here", False),
        ("(1,2)", "we find [1,2] here", False),
        ("1,2", "the interval is (1,2]", False),
        ("5 cm", "so 5 mm in all", False),
        ("5 dollars", "so it is 5 cents", False),
        ("70", "So 100 - 30 = 70", True),
        ("70", "So 100 - 20 = 70", False),  # the sides contradict one another
        ("Yes. It is\n$F(x)$", "Yes. It is\n$F(x)$", True),  # a text, which is only itself
        ("5", r"\boxed{5}. Wait: \boxed{6", False),
    ],
)
def test_prose_is_compared_as_what_it_says(gold: str, response: str, right: bool) -> None:
    assert (verdict(gold, response) == "ok") is right


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("I think that the answer is (B).", "B"),
        ("It can't be A, so it is B.", "B"),
        ("It's not A because it is too small, therefore I think it's B", "B"),
        ("D, it cannot be A or B", "D"),
        ("B不是A", "B"),
        ("A or B", None),
        ("A, B, C, D", None),
        ("A triangle has three sides", None),
        ("It isn't B", None),
        (r"\text{E}*2", None),
        ("A and B", None),
    ],
)
def test_the_letter_that_a_text_chooses(text: str, letter: str | None) -> None:
    assert chosen(text) == letter


N = 300_000


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        "$",
        "**",
        "(",
        "so ",
        "not ",
        " ",
        "\n",
        "1 ",
        "a1 ",
        "= ",
        "5,",
        r"\(",
        "$1$ ",
        "5! ",
        "<|a|> ",
        "\x00",
        "\ud800",
        "\ue000",
        "1.",
        "1+",
        "- ",
        "**5** ",
        r"\text{a",
        "and ",
        "[30], ",
        "n't ",
        "A or ",
        "answer is ",
        "answer:\n",
        r"\begin{pmatrix}",
        r"k \in Z, ",
        "9^",
        r"\boxed{",
    ],
)
def test_no_known_text_is_invalid_or_raises(piece: str) -> None:
    long = piece * (N // len(piece))
    for response in (long, f"{long}x", piece * (1_900 // len(piece)), f"It is {piece * 90} 8", f"#### {piece * 90}"):
        assert verdict("7", response) == "fail" and find(response).mark


@given(text=st.text(alphabet="57+-=.,;:$*()[]{}\\ \n!?abxABCkZtion%不是", max_size=80))
def test_a_text_concludes_at_most_what_can_be_verified(text: str) -> None:
    assert all(isinstance(value, str) and value for value in concluded(text))
    assert verdict("7", text) in ("ok", "fail")
