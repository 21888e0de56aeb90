"""`assay show SLOT:NAME`: what a part's function is called with and may ask for, its fields, its answers, its users."""

from __future__ import annotations

import json
import re
import shlex

import pytest
from of_methods import said
from small_runs import Shell
from sweeps import over

from assay.known import PARTS, RECIPES, SLOTS
from assay.lab.part_card import part_card, part_text, questions
from assay.objective import Case, Objective
from assay.part import KINDS, Condition, Part, kind_of, name_of, parts_of
from assay.part_checks import GIVEN, OFFERED
from assay.recipe import Mechanism
from assay.run.configure import override

EVERY = [(slot, name) for slot, parts in SLOTS.items() for name in parts]
PHASE_KINDS = [kind for kind in KINDS if kind is not Condition]  # a stage has conditions, a mechanism has none


def of_a_phase(part: type[Part]) -> bool:
    return not part.__module__.startswith("assay.methods.")


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


@pytest.mark.slow
@over(EVERY)
def test_every_part_says_what_each_of_its_fields_means(place: tuple[str, str]) -> None:
    """Behind the field, in its docstring or in the formula."""
    slot, name = place
    card = part_card(slot, name)
    text = " ".join([card["summary"], *card["says"], card["formula"]])
    silent = [row["name"] for row in card["fields"] if not row["means"] and not re.search(rf"\b{row['name']}\b", text)]
    assert not silent, f"write a comment behind {silent} of {slot}:{name}"
    assert json.loads(json.dumps(card)) == card
    assert all(row["name"] in part_text(card) for row in card["fields"])


def test_a_gate_by_hand(shell: Shell) -> None:
    card = shell("show", "gate:clip", "--json").document
    assert [row["name"] for row in card["called_with"]] == ["ratio", "advantage"]
    assert card["may_ask_for"] == [{"name": "view", "means": OFFERED["view"], "asks": False}]
    assert [(row["name"], row["type"], row["default"]) for row in card["fields"]] == [
        ("low", "float", 0.2),
        ("high", "float", 0.2),
        ("dual", "float or none", None),
    ]
    assert {"grpo", "dapo", "ppo"} <= set(card["used_by"]) and card["method"] == []
    text = shell("show", "gate:clip").out
    assert "whole rows as tensors" in text and "used by: " in text and "assay.objective.gates.clip" in text


def test_a_field_is_not_taken_for_a_name_that_is_offered() -> None:
    """`scale` of group-relative is its own field; parts are offered another `scale`."""
    card = part_card("credit", "group-relative")
    assert not any(row["asks"] for row in card["may_ask_for"])
    assert card["fields"][0]["choices"] == ["none", "std", "batch"]


def test_every_name_and_every_question_has_a_meaning() -> None:
    for kind in KINDS:
        assert set(kind.given) <= set(GIVEN) and set(kind.offers) <= set(OFFERED)
        assert all(questions(kind).values()), kind


@pytest.mark.slow
@over(part for kind in PHASE_KINDS for part in PARTS[kind].values() if of_a_phase(part))
def test_the_example_of_a_part_says_the_same_in_python_and_on_the_command_line(part: type[Part]) -> None:
    """Its docstring ends with two lines: the argument of a `Mechanism`, and the same as options."""
    python, options = part_card(kind_of(part).slots[0], name_of(part))["says"][-1].splitlines()
    names = {record.__name__: record for parts in PARTS.values() for record in parts.values()}
    written = eval(f"Mechanism({python})", {**names, "Mechanism": Mechanism, "Objective": Objective, "Case": Case})
    named = RECIPES["reinforce"]
    words = shlex.split(options)
    for option, value in zip(words[::2], words[1::2], strict=True):
        named = override(named, option.removeprefix("--"), value)
    first, second = ([p for p in parts_of(found) if type(p) is part] for found in (written, named.mechanism))
    assert first and first == second


def test_who_uses_a_part_are_those_in_whose_recipe_it_stands() -> None:
    for place, users in said("USED_BY").items():
        slot, _, name = place.partition(":")
        assert part_card(slot, name)["used_by"] == users, place
    unused = part_card("aggregate", "delta-l")["used_by"]
    assert unused == [] and "used by: no recipe" in part_text(part_card("aggregate", "delta-l"))


@pytest.mark.parametrize("name", ["gate:clap", "gat:clip"])
def test_what_is_no_part_is_refused_with_the_nearest(name: str, shell: Shell) -> None:
    reply = shell("show", name, "--json")
    assert reply.code == 2 and "'gate:clip'" in reply.document["message"]
