"""The twenty-five kinds of instruction of IFEval: for each texts that follow it and texts that do not, by hand."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.verifiers.instruction_types import TYPES, fault_of_type, plain_arguments, variants
from assay.verifiers.instructions import explain, fault_of, meets, meets_loosely, share

FIRST = "length_constraints:nth_paragraph_first_word"
AT_LEAST, LESS = "at least", "less than"
CASES: dict[str, list[tuple[dict[str, Any], list[str], list[str]]]] = {
    "keywords:existence": [
        ({"keywords": ["tea", "Cup"]}, ["A cup of TEA.", "teapots and cups"], ["a cup", "", "te a cup"]),
        ({"keywords": ["a.b"]}, ["a.b"], ["axb"]),  # plain text, and no pattern
    ],
    "keywords:frequency": [
        ({"keyword": "tea", "frequency": 2, "relation": AT_LEAST}, ["Tea, tea", "teatea"], ["tea"]),
        ({"keyword": "tea", "frequency": 2, "relation": LESS}, ["tea", "cake"], ["tea tea"]),
    ],
    "keywords:forbidden_words": [
        ({"forbidden_words": ["tea", "cup"]}, ["teapots", "instead"], ["No TEA!", "a cup"]),
        ({"forbidden_words": ["ice tea"]}, ["rice tea", "ice teas"], ["an ice tea."]),
    ],
    "keywords:letter_frequency": [
        ({"letter": "q", "let_frequency": 2, "let_relation": AT_LEAST}, ["Quick quiz", "qq"], ["quick"]),
        ({"letter": "#", "let_frequency": 1, "let_relation": LESS}, ["none"], ["# one"]),
    ],
    "language:response_language": [
        ({"language": "de"}, ["Der Hund ist nicht im Haus."], ["The dog is not in the house.", "Hund", "1 2 3"]),
        ({"language": "ja"}, ["犬は家にいます。"], ["狗在家里。"]),
    ],
    "length_constraints:number_sentences": [
        ({"num_sentences": 2, "relation": AT_LEAST}, ["One. Two!", "Dr. Who came. Why?"], ["Dr. Who came.", "One..."]),
        ({"num_sentences": 2, "relation": LESS}, ["One.", "no end"], ["One. Two."]),
    ],
    "length_constraints:number_paragraphs": [
        (
            {"num_paragraphs": 2},
            ["a\n***\nb", "a *** b", "***\na\n***\nb\n***"],
            ["a\n\nb", "a***b***c", "a *** *** b"],
        ),
    ],
    "length_constraints:number_words": [
        ({"num_words": 3, "relation": AT_LEAST}, ["one two three", "don't go"], ["one, two", "- - - -"]),
        ({"num_words": 3, "relation": LESS}, ["one two"], ["one two three"]),
    ],
    "length_constraints:nth_paragraph_first_word": [
        (
            {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "Tea"},
            ["One.\n\ntea, and cake", 'One.\n\n"Tea" is', "\n\na\n\n\n\nTea"],
            ["Tea\n\nOne.", "One.\n\nTeas", "One.\n\nTea\n\nThree", "One.\nTea"],
        )
    ],
    "detectable_content:postscript": [
        ({"postscript_marker": "P.S."}, ["Bye.\nP.S. Tea.", "bye p. s. tea"], ["Bye. PS tea", "tips. Some"]),
        ({"postscript_marker": "P.P.S"}, ["P.P.S more", "p.p.s. more"], ["P.S. more"]),
    ],
    "detectable_content:number_placeholders": [
        ({"num_placeholders": 2}, ["[name] lives in [town]", "[a][b][c]"], ["[name]", "[a [b]", "(a) (b)"]),
    ],
    "detectable_format:number_bullet_lists": [
        (
            {"num_bullets": 2},
            ["* one\n* two", "- one\ntext\n  - two", "* one\n-two"],
            ["* one", "**a**\n**b**"],
        ),
    ],
    "detectable_format:title": [({}, ["<<Tea>>\ntext", "so: <<a b>>"], ["<Tea>", "<< >>", "<<a\nb>>", "Tea"])],
    "detectable_format:constrained_response": [
        ({}, ["My answer is yes.", "Well. My answer is maybe. Bye."], ["my answer is yes.", "My answer is yes", "yes"]),
    ],
    "detectable_format:number_highlighted_sections": [
        (
            {"num_highlights": 2},
            ["*one* and *two*", "**one** and *two*", "*a* *b* *c*"],
            ["** **  *a*", "*a\nb* c"],
        ),
    ],
    "detectable_format:multiple_sections": [
        (
            {"section_spliter": "Section", "num_sections": 2},
            ["Section 1\na\nSection 2\nb", "Section1 a Section2 b Section 3"],
            ["Section 1\na", "section 1 section 2", "Section one Section two"],
        )
    ],
    "detectable_format:json_format": [
        (
            {},
            ['{"a": 1}', '```json\n{"a": 1}\n```', "```\n[1]\n```"],
            ["{'a': 1}", 'Here: {"a": 1}', '{"a": NaN}', "```json\n"],
        ),
    ],
    "combination:repeat_prompt": [
        ({"prompt_to_repeat": "Say tea."}, ["Say tea. Tea!", "  say TEA.\ntea"], ["Tea! Say tea.", "Say te"]),
    ],
    "combination:two_responses": [
        (
            {},
            ["one\n******\ntwo", "******\none\n******\ntwo"],
            ["one", "a****** a", "a******b******c", "a************b"],
        ),
    ],
    "change_case:english_capital": [({}, ["HELLO, WORLD 2!", "TEA"], ["HELLO world", "12", "DER HUND IST NICHT DA"])],
    "change_case:english_lowercase": [({}, ["hello, world 2!", "tea"], ["Hello", "12", "le chien est dans la rue"])],
    "change_case:capital_word_frequency": [
        (
            {"capital_frequency": 2, "capital_relation": AT_LEAST},
            ["BIG NEWS", "I, THE one", "(WELL-KNOWN) U.S."],
            ["Big NEWS", "1 2"],
        ),
        ({"capital_frequency": 1, "capital_relation": LESS}, ["Big news"], ["A big one"]),
    ],
    "startend:end_checker": [
        (
            {"end_phrase": "Any questions?"},
            ["So. any questions?", '"So. Any questions?"\n'],
            ["Any questions? No.", "questions?"],
        ),
    ],
    "startend:quotation": [({}, ['"Yes."', ' "a" and "b" '], ["'Yes.'", '"', '"Yes.', "“Yes.”"])],
    "punctuation:no_comma": [({}, ["one and two; three"], ["one, two"])],
}


def test_each_kind_has_its_texts() -> None:
    assert CASES.keys() == TYPES.keys() and len(TYPES) == 25


@pytest.mark.parametrize("name", CASES)
def test_texts_by_hand(name: str) -> None:
    for arguments, right, wrong in CASES[name]:
        rule = [name, arguments]
        assert fault_of(rule) is None
        assert [text for text in right if not meets(rule, text)] == []
        assert [text for text in wrong if meets(rule, text)] == []
        assert not meets(rule, " \n"), "an empty text follows nothing"


def test_the_loose_criterion_looks_past_a_first_line_a_last_one_and_stars() -> None:
    quoted = ["startend:quotation", {}]
    for text in ('"Tea."', 'Sure:\n"Tea."', '"Tea."\nBye', 'Sure:\n"Tea."\nBye', 'Sure:\n**"Tea."**'):
        assert meets_loosely(quoted, text) and meets(quoted, text) == (text == '"Tea."')
    assert not meets_loosely(quoted, 'Well.\nSure:\n"Tea."') and not meets_loosely(["punctuation:no_comma", {}], "a, b")
    assert variants("a\n*b*\nc") == ("a\n*b*\nc", "*b*\nc", "a\n*b*", "*b*", "a\nb\nc", "b\nc", "a\nb", "b")
    assert not meets_loosely(["detectable_format:title", {}], "only one line"), "of one line nothing is left"


@given(st.text(max_size=60), st.sampled_from(sorted(CASES)))
def test_what_follows_strictly_follows_loosely(text: str, name: str) -> None:
    rule = [name, CASES[name][0][0]]
    assert meets_loosely(rule, text) or not meets(rule, text)


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        (["keywords:existense", {}], "none of the kinds of IFEval|begins with one of"),  # codespell:ignore existense
        (["keywords:existence", {}], "'keywords' of 'keywords:existence' is a list of texts, not nothing"),
        (["keywords:existence", {"keywords": []}], r"a list of texts, not \[\]"),
        (["keywords:existence", {"keywords": ["a"], "relation": LESS}], "has no argument 'relation'; it has keywords"),
        (["punctuation:no_comma", {"n": 1}], "has no argument 'n'; it has none"),
        (["punctuation:no_comma", 3], "are an object, not 3"),
        (["keywords:letter_frequency", {"letter": "ab", "let_frequency": 1, "let_relation": LESS}], "is one character"),
        (["length_constraints:number_words", {"num_words": -1, "relation": LESS}], "number of at least 0, not -1"),
        (["length_constraints:number_words", {"num_words": True, "relation": LESS}], "not true"),
        (["length_constraints:number_words", {"num_words": 3, "relation": "more than"}], "'less than', 'at least'"),
        (["language:response_language", {"language": "xx"}], "one of ar, bg, "),
        (
            [FIRST, {"num_paragraphs": 2, "nth_paragraph": 3, "first_word": "a"}],
            "is from 1 to 'num_paragraphs', not 3",
        ),
    ],
)
def test_rules_that_cannot_be_checked_say_why(rule: list[Any], says: str) -> None:
    assert re.search(says, fault_of(rule) or "")


def test_arguments_of_tables_lose_their_nulls() -> None:
    assert plain_arguments({"num_words": 3.0, "relation": LESS, "keywords": None}) == {"num_words": 3, "relation": LESS}
    assert plain_arguments(None) == {} and plain_arguments(3) == 3 and plain_arguments({"x": 2.5}) == {"x": 2.5}
    assert fault_of_type("startend:quotation", plain_arguments({"a": None})) is None


def test_they_stand_beside_the_small_rules() -> None:
    rules = [["words-at-most", 3], ["punctuation:no_comma"], ["startend:quotation", {}]]
    assert share(rules, '"one, two"') == 2 / 3
    (one,) = explain([(json.dumps(rules), '"one, two"')])
    assert one.verdict.status == "fail" and "punctuation:no_comma" in one.why
    assert explain([(json.dumps([["startend:quotation", {"a": 1}]]), "x")])[0].verdict.kind == "bad_gold"
