"""Calls of tools: their order where it counts, defaults and types where a schema states them."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.verifiers.calls import explain
from assay.verifiers.instructions import meets

WAKE, MAIL = {"name": "wake", "arguments": {"at": 7}}, {"name": "mail", "arguments": {"to": "bob"}}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "wake",
            "parameters": {
                "type": "object",
                "properties": {
                    "at": {"type": "number"},
                    "days": {"type": "integer", "default": 1},
                    "tune": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
                    "light": {
                        "type": "object",
                        "default": {},
                        "properties": {"level": {"type": ["number", "null"], "default": 0.5}},
                    },
                    "steps": {"type": "array", "items": {"type": "number"}, "default": []},
                },
                "required": ["at"],
            },
        },
    },
    {"name": "mail", "parameters": {"properties": {"to": {"type": "string"}, "copy": {"default": False}}}},
]


def reference(*calls: Any, **settings: Any) -> str:
    return json.dumps({"calls": list(calls), **settings})


def verdict(gold: str, response: Any) -> tuple[str, str]:
    (one,) = explain([(gold, response if isinstance(response, str) else json.dumps(response))])
    return one.verdict.status, one.verdict.kind


def wake(**arguments: Any) -> list[Any]:
    return [{"name": "wake", "arguments": {"at": 7, **arguments}}]


def test_the_order_counts_where_the_reference_says_so() -> None:
    assert verdict(reference(WAKE, MAIL), [MAIL, WAKE]) == ("ok", "")
    assert verdict(reference(WAKE, MAIL, ordered=False), [MAIL, WAKE]) == ("ok", "")
    assert verdict(reference(WAKE, MAIL, ordered=True), [MAIL, WAKE]) == ("fail", "wrong")
    assert verdict(reference(WAKE, MAIL, ordered=True), "wake(at=7);mail(to=bob)") == ("ok", "")
    (one,) = explain([(reference(WAKE, MAIL, ordered=True), "mail(to=bob);wake(at=7)")])
    assert "another order" in one.why


@pytest.mark.parametrize(
    ("arguments", "right"),
    [
        ({}, True),
        ({"at": 7.0}, True),  # the schema says number
        ({"at": 7.5}, False),
        ({"at": "7"}, False),
        ({"days": 1}, True),  # the default, written out
        ({"days": 2}, False),
        ({"days": 1.0}, False),  # an integer stays exact
        ({"days": True}, False),
        ({"tune": None}, True),
        ({"tune": "birds"}, False),
        ({"light": {}}, True),
        ({"light": {"level": 0.5}}, True),  # the default of the default
        ({"light": {"level": None}}, False),
        ({"light": {"level": 0.5, "colour": "red"}}, False),
        ({"steps": []}, True),
        ({"steps": [1]}, False),
        ({"unknown": 1}, False),
        ({"days": 1, "tune": None, "light": {"level": 0.5}, "steps": []}, True),
    ],
)
def test_a_default_is_what_was_left_out(arguments: dict[str, Any], right: bool) -> None:
    gold = reference(*wake(), tools=TOOLS)
    expected = ("ok", "") if right else ("fail", "wrong")
    assert verdict(gold, wake(**arguments)) == expected
    if right:
        assert verdict(reference(*wake(**arguments), tools=TOOLS), wake()) == expected, "in both directions"


def test_numbers_within_lists_and_objects_are_of_the_kind_that_the_schema_says() -> None:
    gold = reference(*wake(steps=[1, 2.5], light={"level": 3}), tools=TOOLS)
    assert verdict(gold, wake(steps=[1.0, 2.5], light={"level": 3.0})) == ("ok", "")
    assert verdict(gold, wake(steps=[1, 2], light={"level": 3})) == ("fail", "wrong")
    large = reference(*wake(at=2**53 + 1), tools=TOOLS)
    assert verdict(large, wake(at=float(2**53))) == ("fail", "wrong"), "compared exactly"


def test_without_a_schema_all_values_are_as_written() -> None:
    assert verdict(reference(*wake()), wake(at=7.0)) == ("fail", "wrong")
    assert verdict(reference(*wake()), wake(days=1)) == ("fail", "wrong")


@pytest.mark.parametrize(
    "wrong",
    [
        "{}", "{", '{"calls": 1}', '{"calls": [1]}', reference(WAKE, ordered=1), reference(WAKE, order=True),
        reference(WAKE, tools={}), reference(WAKE, tools=[1]), reference(WAKE, tools=[{"name": 1}]),
        reference(WAKE, tools=[{"name": "wake", "parameters": []}, {}]),
        reference(WAKE, tools=[{"name": "wake", "parameters": {"properties": []}}]),
        reference(WAKE, tools=[{"name": "wake", "parameters": {"properties": {"at": 1}}}]),
        reference(WAKE, tools=[{"name": "wake"}, {"name": "wake"}]),
        reference({"name": "sleep", "arguments": {}}, tools=TOOLS),
        "[" * 100, '{"calls": [], "calls": []}', '{"calls": ' + "[" * 100_000,
    ],
)  # fmt: skip
def test_a_reference_that_is_none_is_a_bad_gold(wrong: str) -> None:
    assert verdict(wrong, [WAKE]) == ("invalid", "bad_gold")


SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3)
)
JSON = st.recursive(
    SCALARS, lambda one: st.lists(one, max_size=3) | st.dictionaries(st.text(max_size=3), one, max_size=3), max_leaves=6
)


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(["at", "days", "tune", "light", "steps", "more"]), JSON, max_size=4), st.data())
def test_a_call_is_right_with_itself_and_with_its_defaults_written_out(arguments: dict[str, Any], data: Any) -> None:
    """The law: whatever stands in a call, leaving out or writing out a default changes no verdict on it."""
    defaults = {"days": 1, "tune": None, "light": {}, "steps": []}
    written = copy.deepcopy(arguments)
    for name in data.draw(st.sets(st.sampled_from(sorted(defaults)))):
        written.setdefault(name, defaults[name])
    one, other = ([{"name": "wake", "arguments": each}] for each in (arguments, written))
    assert verdict(reference(*one, tools=TOOLS), other) == ("ok", "")
    assert verdict(reference(*other, tools=TOOLS), one) == ("ok", "")


@settings(deadline=None)
@given(st.text(max_size=60) | JSON.map(json.dumps) | st.lists(JSON, max_size=3).map(json.dumps))
def test_no_answer_is_a_fault_of_ours(answer: str) -> None:
    for gold in (reference(WAKE, MAIL, ordered=True, tools=TOOLS), "wake(at=7)"):
        assert verdict(gold, answer)[0] in ("ok", "fail")


@pytest.mark.parametrize("text", ["12 34", "1", "...", "中文", "()"])
def test_a_text_in_which_no_letter_has_a_case_is_in_neither(text: str) -> None:
    assert not meets(["uppercase"], text) and not meets(["lowercase"], text)


@given(st.text(max_size=20))
def test_no_text_is_in_capitals_and_in_lower_case(text: str) -> None:
    assert not (meets(["uppercase"], text) and meets(["lowercase"], text))
    if text.isascii() and any(letter.isalpha() for letter in text):
        assert meets(["uppercase"], text.upper()) and meets(["lowercase"], text.lower())
