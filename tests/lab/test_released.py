"""Published values beside ours: each has a place, each difference is said, and gates that cannot act are named."""

from __future__ import annotations

import dataclasses
import inspect

import pytest
import torch
from of_methods import said

from assay.errors import ConfigError
from assay.known import RECIPES, SLOTS
from assay.lab.catalogue import card, card_text
from assay.lab.explain import explain
from assay.lab.released import FOLDER, Released, compared, deviations, idle, released, value_at
from assay.objective import Case, Clip, Objective, Open, Tagged
from assay.part import Gate, bind

READ = [name for name in RECIPES if released(name)]
GRPO = RECIPES["grpo"]
SEEING_ROWS = said("SEEING_ROWS")


def of(name: str) -> Released:
    known = released(name)
    assert known is not None
    return known


@pytest.mark.parametrize("name", READ)
def test_every_difference_from_what_was_published_is_said(name: str) -> None:
    """Where this fails a value has moved: give the reason under [why] of assay/lab/releases, or take it out there."""
    recipe, known = RECIPES[name], of(name)
    assert known.read.startswith(("github.com/", "authors' recipe", "no release by the authors")) and known.values
    rows = {row.name: row for row in compared(recipe, known)}
    silent = [
        f"{row.name}: {row.here} here, {row.released} released" for row in rows.values() if not (row.same or row.why)
    ]
    stale = [name for name, row in rows.items() if row.why and row.same]
    assert not silent and not stale and known.why.keys() <= rows.keys()
    told = "\n".join(deviations(recipe))
    assert all(row.why in told and row.name in told for row in rows.values() if not row.same)


def test_files_of_released_values_are_of_recipes_and_there_are_many() -> None:
    files = {path.stem for path in FOLDER.glob("*.toml")}
    assert files <= set(RECIPES), "a recipe is gone: delete its file in assay/lab/releases"
    assert len(files) >= 0.2 * len(RECIPES)


def test_a_difference_is_found_and_said_with_its_reason() -> None:
    published = Released(
        "a file",
        {"scale.group_size": 8, "mechanism.credit": "reinforce", "mechanism.objective.gate.dual": "none"},
        {"repetition penalty": 1.1, "epochs": 3},
        {"scale.group_size": "The paper has 64.", "repetition penalty": "Here there is none."},
    )
    rows = compared(GRPO, published)
    assert [(row.name, row.here, row.released, row.same, row.why) for row in rows] == [
        ("scale.group_size", 64, 8, False, "The paper has 64."),
        ("mechanism.credit", "group-relative", "reinforce", False, ""),
        ("mechanism.objective.gate.dual", "none", "none", True, ""),
        ("repetition penalty", None, 1.1, False, "Here there is none."),
        ("epochs", None, 3, True, ""),
    ]


def test_differences_are_among_the_deviations_of_the_card_and_of_the_explanation() -> None:
    name, row = next((name, row) for name in READ for row in compared(RECIPES[name], of(name)) if row.why and row.here)
    told, own = deviations(RECIPES[name]), list(RECIPES[name].deviations)
    said = f"`{row.name}`: {row.here} here and {row.released} in the authors' release. {row.why}"
    assert told[: len(own)] == own and said in told[len(own) :]
    assert card(name)["deviations"] == explain(name)["deviations"] == told
    assert deviations(GRPO) == list(GRPO.deviations) and card("grpo")["released"] is None


def test_numbers_are_compared_as_numbers_parts_by_name_and_an_absent_part_is_none() -> None:
    published = {"scale.learning_rate": 0.000001, "mechanism.reward.0": "outcome", "mechanism.shape.0": "none"}
    assert [row.same for row in compared(GRPO, Released("a file", published))] == [True, True, True]
    assert value_at(GRPO, "mechanism.shape.0.over") is None


@pytest.mark.parametrize(
    ("setting", "named"),
    [
        ("scale.groups", "scale has num_prompts"),
        ("mechanism.reward.first", "mechanism.reward has nothing, not 'first'"),
    ],
)
def test_a_setting_that_does_not_exist_is_refused_with_those_that_do(setting: str, named: str) -> None:
    with pytest.raises(ConfigError, match="grpo has no setting") as caught:
        value_at(GRPO, setting)
    assert named in str(caught.value)


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
    assert isinstance(gate, Gate)
    if "view" in inspect.signature(type(gate).does).parameters:
        assert gate.off_policy == SEEING_ROWS[f"gate:{name}"]
        return
    advantage = torch.tensor([1.0, -1.0, 1.0, -1.0])
    near = bind(gate)(torch.ones(4), advantage)
    far = bind(gate)(torch.tensor([9.0, 9.0, 0.1, 0.1]), advantage)
    assert gate.off_policy == bool((near == 1).all() and not (far == 1).all()) or name == "plain"


def test_the_card_shows_the_table_and_what_cannot_act() -> None:
    found = card("grpo")
    assert found["scales"]["paper"]["idle"] == idle(GRPO) and found["deviations"] == deviations(GRPO)
    assert "released: no configuration of the authors is on record here" in card_text({**found, "released": None})
    row = {"name": "scale.group_size", "here": 64, "released": 8, "why": "the paper's"}
    words = {"name": "epochs", "here": None, "released": 3, "why": ""}
    text = card_text({**found, "released": {"read": "a file", "values": [row, words]}})
    assert "released: a file\n" in text and "scale.group_size  64    8         the paper's\n  epochs: 3." in text
