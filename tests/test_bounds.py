"""Numbers in the fields of parts: one beyond the bounds of its field is refused before anything runs."""

from __future__ import annotations

import dataclasses
import math
import re
from typing import Annotated, get_type_hints

import pytest

from assay.credit import GroupRelative
from assay.errors import ConfigError
from assay.known import PARTS, RECIPES
from assay.lab.part_card import part_card
from assay.objective import KL
from assay.part import Condition, Count, Part, Positive, PositiveProportion, Proportion, Within
from assay.part_checks import bounds_of, check_parts
from assay.recipe import Rule, Stage, check
from assay.run.configure import override
from assay.stages import Plateau, Threshold

BOUNDED = [
    (part, field.name, bounds)
    for parts in PARTS.values()
    for part in parts.values()
    for field in dataclasses.fields(part)
    if (bounds := bounds_of(get_type_hints(part, include_extras=True)[field.name])) is not None
]


@pytest.mark.parametrize(
    ("part", "name", "bounds"), BOUNDED, ids=lambda item: getattr(item, "__name__", str(item)).replace(" ", "-")
)
def test_numbers_beyond_the_bounds_are_refused(part: type[Part], name: str, bounds: Within) -> None:
    whole = isinstance(getattr(part(), name), int)
    below, least = (bounds.least - 1, bounds.least) if whole else (bounds.least - 1e-6, bounds.least + 1e-6)
    fits = [least, *([bounds.most] if bounds.most < math.inf else [])]
    beyond = [below, math.nan, *([bounds.least] if bounds.above else []), bounds.most + 1]
    for value in fits:
        check_parts(part(**{name: value}), "here")
    for value in beyond:
        if value < math.inf:
            with pytest.raises(ConfigError, match=rf"^here\.{name} must be {bounds}, not "):
                check_parts(part(**{name: value}), "here")


@pytest.mark.parametrize(
    ("bounds", "fits", "beyond", "said"),
    [
        (Within(1), [1, 2, math.inf], [0, -1], "1 or more"),
        (Within(0, 1), [0.0, 0.5, 1.0], [-0.1, 1.1], "from 0 to 1"),
        (Within(0, 1, above=True), [0.1, 1.0], [0.0, 1.1], "above 0 up to 1"),
        (Within(0, above=True), [1e-9, 5.0], [0.0, -1.0], "above 0"),
    ],
)
def test_bounds_by_hand(bounds: Within, fits: list[float], beyond: list[float], said: str) -> None:
    assert [value in bounds for value in (*fits, *beyond, math.nan)] == [True] * len(fits) + [False] * len(beyond) + [
        False
    ]
    assert str(bounds) == said


def test_the_bounds_of_a_type() -> None:
    assert bounds_of(Count) == bounds_of(Count | None) == Within(1)
    assert bounds_of(int) == bounds_of(int | None) == bounds_of(tuple[int, ...]) == Within(0)
    assert bounds_of(Proportion) == bounds_of(tuple[Proportion, ...]) == Within(0, 1)
    assert bounds_of(Annotated[int, "a note", Within(2)]) == Within(2)
    assert [bounds_of(PositiveProportion), bounds_of(Positive)] == [Within(0, 1, above=True), Within(0, above=True)]
    assert bounds_of(float) is bounds_of(str) is bounds_of(bool) is None


@pytest.mark.parametrize("condition", [Threshold(window=0), Plateau(window=0)])
def test_a_condition_of_a_stage_is_asked_too(condition: Condition) -> None:
    """The mean of no values divides by zero, at the end of a step."""
    wrong = dataclasses.replace(RECIPES["grpo"], stages=(Stage("first", 0.5), Stage("second", 0.5, when=condition)))
    with pytest.raises(ConfigError, match=r"^stages\.1\.when\.window must be 1 or more, not 0\.$"):
        check(wrong)


@pytest.mark.parametrize(
    ("name", "path", "said"),
    [
        ("dapo", "mechanism.reward.1.buffer", "1 or more"),
        ("dapo", "stages.1.when.window", "1 or more"),
        ("dapo", "stages.0.mechanism.expand.0.max_rounds", "1 or more"),
        ("ppo", "mechanism.credit.gamma", "from 0 to 1"),
    ],
)
def test_the_message_has_the_path_that_the_command_line_takes(name: str, path: str, said: str) -> None:
    recipe = RECIPES[name]
    stages = (Stage("first", 0.5, mechanism=recipe.mechanism), Stage("second", 0.5, when=Plateau()))
    with pytest.raises(ConfigError, match=rf"^{re.escape(path)} must be {said}, not -1\.$"):
        check(override(dataclasses.replace(recipe, stages=stages), path, "-1"))


def test_rules_and_objectives_are_asked_too() -> None:
    recipe = RECIPES["grpo"]
    rule = Rule(role="second", credit=GroupRelative(), objective=recipe.mechanism.objective)
    goal = dataclasses.replace(rule.objective, regularise=(KL(estimator="k4"),))  # type: ignore[arg-type]
    for place, wrong in (
        ("credit.ddof", dataclasses.replace(rule, credit=GroupRelative(ddof=2))),  # type: ignore[arg-type]
        ("objective.regularise.0.estimator", dataclasses.replace(rule, objective=goal)),
    ):
        mechanism = dataclasses.replace(recipe.mechanism, rules=(wrong,))
        with pytest.raises(ConfigError, match=rf"^mechanism\.rules\.0\.{re.escape(place)} is one of"):
            check(dataclasses.replace(recipe, mechanism=mechanism))


def test_the_card_of_a_part_says_the_bounds() -> None:
    asking, refilling = (
        {item["name"]: item["type"] for item in part_card(*place)["fields"]}
        for place in (("ask", "fewer"), ("expand", "refill"))
    )
    assert asking == {"share": "float, above 0 up to 1"}
    assert (refilling["max_rounds"], refilling["share"]) == ("int, 1 or more", "float, from 0 to 1")
