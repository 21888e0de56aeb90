"""Whole numbers in the fields of parts: one below the least of its field is refused before anything runs."""

from __future__ import annotations

import dataclasses
import re
from typing import Any, get_args, get_type_hints

import pytest

from assay.credit import GroupRelative
from assay.errors import ConfigError
from assay.known import PARTS, RECIPES
from assay.lab.part_card import part_card
from assay.objective import KL
from assay.part import Condition, Count, Part
from assay.part_checks import check_parts, least_of
from assay.recipe import Stage, check
from assay.run.configure import override
from assay.stages import Plateau, Threshold

NUMBERS = [
    (part, field.name, hint)
    for parts in PARTS.values()
    for part in parts.values()
    for field in dataclasses.fields(part)
    if int in get_args(hint := get_type_hints(part, include_extras=True)[field.name]) or hint is int or hint is Count
]


@pytest.mark.parametrize(
    ("part", "name", "hint"), NUMBERS, ids=[f"{part.__name__}.{name}" for part, name, _ in NUMBERS]
)
def test_one_below_the_least_is_refused_and_the_least_is_not(part: type[Part], name: str, hint: Any) -> None:
    least = least_of(hint)
    assert least is not None
    check_parts(part(**{name: least}), "here")
    with pytest.raises(ConfigError, match=rf"^here\.{name} must be {least} or more, not {least - 1}\.$"):
        check_parts(part(**{name: least - 1}), "here")


def test_the_least_of_a_type() -> None:
    assert least_of(Count) == 1 and least_of(Count | None) == 1
    assert least_of(int) == 0 and least_of(int | None) == 0 and least_of(tuple[int, ...]) == 0
    assert least_of(float) is None and least_of(str) is None and least_of(bool) is None


@pytest.mark.parametrize("condition", [Threshold(window=0), Plateau(window=0)])
def test_a_condition_of_a_stage_is_asked_too(condition: Condition) -> None:
    """The mean of no values divides by zero, at the end of a step."""
    wrong = dataclasses.replace(RECIPES["grpo"], stages=(Stage("first", 0.5), Stage("second", 0.5, when=condition)))
    with pytest.raises(ConfigError, match=r"^stages\.1\.when\.window must be 1 or more, not 0\.$"):
        check(wrong)


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("dapo", "mechanism.reward.1.buffer"),
        ("kl-reset", "stages.1.when.window"),
        ("synthrl", "stages.0.mechanism.expand.0.longest"),
    ],
)
def test_the_message_has_the_path_that_the_command_line_takes(name: str, path: str) -> None:
    with pytest.raises(ConfigError, match=rf"^{re.escape(path)} must be 1 or more, not -1"):
        check(override(RECIPES[name], path, "-1"))


def test_rules_and_objectives_are_asked_too() -> None:
    recipe = RECIPES["nurl"]
    (rule,) = recipe.mechanism.rules
    goal = dataclasses.replace(rule.objective, regularise=(KL(estimator="k4"),))  # type: ignore[arg-type]
    for place, wrong in (
        ("credit.ddof", dataclasses.replace(rule, credit=GroupRelative(ddof=2))),  # type: ignore[arg-type]
        ("objective.regularise.0.estimator", dataclasses.replace(rule, objective=goal)),
    ):
        mechanism = dataclasses.replace(recipe.mechanism, rules=(wrong,))
        with pytest.raises(ConfigError, match=rf"^mechanism\.rules\.0\.{re.escape(place)} is one of"):
            check(dataclasses.replace(recipe, mechanism=mechanism))


def test_the_card_of_a_part_says_the_least() -> None:
    (field,) = [item for item in part_card("when", "plateau")["fields"] if item["name"] == "window"]
    assert field["type"] == "int, 1 or more"
