"""Published values beside ours: each has a place, each difference is said, and gates that cannot act are named."""

from __future__ import annotations

import dataclasses
import inspect

import pytest
import torch

from assay.errors import ConfigError
from assay.known import RECIPES, SLOTS
from assay.lab.catalogue import card, card_text
from assay.objective import Case, Clip, Objective, Open, Tagged
from assay.part import bind
from assay.released import Released, compared, idle, value_at

READ = [name for name, recipe in RECIPES.items() if recipe.released]
GRPO = RECIPES["grpo"]
SEEING_ROWS = {"geometric": True, "focal": False, "by-entropy": False, "clip-likeliest": False, "shaped-by": False}


@pytest.mark.parametrize("name", READ)
def test_every_difference_from_what_was_published_is_said(name: str) -> None:
    recipe = RECIPES[name]
    assert recipe.released is not None and recipe.released.read and recipe.released.values
    silent = [
        f"{one.name}: {one.here} here, {one.released} released" for one in compared(recipe) if not (one.same or one.why)
    ]
    assert not silent, f"`deviations` of {name} must name them in backticks (settings) or in these words: {silent}"


def test_a_difference_is_found_by_its_setting_and_explained_by_the_deviation_that_names_it() -> None:
    published = Released(
        "a file", {"scale.group_size": 8, "mechanism.credit": "reinforce"}, {"repetition penalty": 1.1}
    )
    said = ("Groups have 64 answers, `scale.group_size`: the paper's.", "There is no repetition penalty.")
    rows = compared(dataclasses.replace(GRPO, released=published, deviations=said))
    assert [(row.name, row.here, row.released, row.same, row.why) for row in rows] == [
        ("scale.group_size", 64, 8, False, said[0]),
        ("mechanism.credit", "group-relative", "reinforce", False, ""),
        ("repetition penalty", None, 1.1, False, said[1]),
    ]
    assert compared(dataclasses.replace(GRPO, released=None)) == []


def test_numbers_are_compared_as_numbers_and_parts_by_name() -> None:
    published = Released("a file", {"scale.learning_rate": 0.000001, "mechanism.reward.0": "outcome"})
    rows = compared(dataclasses.replace(GRPO, released=published))
    assert [row.same for row in rows] == [True, True]


@pytest.mark.parametrize(
    ("setting", "named"),
    [("scale.groups", "scale has num_prompts"), ("mechanism.reward.7.right", "mechanism.reward has 0, not '7'")],
)
def test_a_setting_that_does_not_exist_is_refused_with_those_that_do(setting: str, named: str) -> None:
    with pytest.raises(ConfigError, match="grpo has no setting") as caught:
        value_at(GRPO, setting)
    assert named in str(caught.value)


def test_a_recipe_made_of_another_does_not_take_over_what_others_published() -> None:
    for name in READ:
        likes = [one for one in RECIPES.values() if one.released is RECIPES[name].released]
        assert [one.name for one in likes] == [name]


def test_a_clip_cannot_act_where_there_is_one_update_a_step() -> None:
    (line,) = idle(GRPO)
    assert line.startswith("mechanism.objective.gate clip cannot act on fresh answers")
    twice = dataclasses.replace(GRPO, scale=dataclasses.replace(GRPO.scale, num_epochs=2))
    assert idle(twice) == [] and idle(RECIPES["reinforce"]) == []


def test_gates_of_cases_and_of_the_samplers_log_probs() -> None:
    goal = Objective(gate=Open(), cases=(Case(over=Tagged("teacher"), gate=Clip()),))
    mechanism = dataclasses.replace(GRPO.mechanism, objective=goal)
    (line,) = idle(dataclasses.replace(GRPO, mechanism=mechanism))
    assert line.startswith("mechanism.objective.cases.0.gate clip")
    sampled = dataclasses.replace(GRPO.mechanism, objective=Objective(gate=Clip(), anchor="sampler"))
    assert idle(dataclasses.replace(GRPO, mechanism=sampled)) == []


@pytest.mark.parametrize("name", SLOTS["gate"])
def test_gates_that_act_off_policy_alone_are_those_that_are_one_on_policy_and_nowhere_else(name: str) -> None:
    gate = SLOTS["gate"][name]()
    if "view" in inspect.signature(type(gate).does).parameters:
        assert gate.off_policy == SEEING_ROWS[name]
        return
    advantage = torch.tensor([1.0, -1.0, 1.0, -1.0])
    near = bind(gate)(torch.ones(4), advantage)
    far = bind(gate)(torch.tensor([9.0, 9.0, 0.1, 0.1]), advantage)
    assert gate.off_policy == bool((near == 1).all() and not (far == 1).all()) or name == "plain"


def test_the_card_shows_the_table_and_what_cannot_act() -> None:
    found = card("grpo")
    assert found["scales"]["paper"]["idle"] == idle(GRPO) and found["deviations"] == list(GRPO.deviations)
    assert "released: no configuration of the authors is on record here" in card_text({**found, "released": None})
    row = {"name": "scale.group_size", "here": 64, "released": 8, "why": "the paper's"}
    text = card_text({**found, "released": {"read": "a file", "values": [row]}})
    assert "released: a file\n" in text and "scale.group_size  64    8         the paper's" in text
