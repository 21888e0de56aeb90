"""The components of recipes, by hand for some."""

from __future__ import annotations

import dataclasses

import pytest
from of_methods import said

from assay.known import GROUPS, METHOD_OF, RECIPES
from assay.lab.blueprint import components
from assay.lab.pages import table
from assay.recipe import Stage


def test_a_plain_recipe() -> None:
    found = components(RECIPES["grpo"])
    assert (found.structure, found.operators) == ("chain", ("generate",))
    assert (found.evaluates, found.models) == (("outcomes",), ())
    assert found.phases == ("policy by policy gradient",)


def test_what_imitates_and_a_loss_of_its_own() -> None:
    assert components(RECIPES["sft"]).operators == ("imitate",)
    assert components(RECIPES["dpo"]).phases == ("policy by a loss of its own",)


@pytest.mark.parametrize(("name", "expected"), said("COMPONENTS").items())
def test_trees_stages_roles_and_what_learns_in_each(name: str, expected: dict[str, object]) -> None:
    """Each method says it of its own recipes, by hand."""
    found = components(RECIPES[name])
    assert {field: getattr(found, field) for field in expected} == expected


def test_a_stage_without_steps_does_not_count() -> None:
    first = Stage("imitation", mechanism=RECIPES["sft"].mechanism)
    recipe = dataclasses.replace(RECIPES["grpo"], stages=(first, Stage("learning")))
    assert components(recipe).operators == ("generate", "imitate")
    assert components(recipe).phases == ("policy by imitation", "policy by policy gradient")
    found = components(dataclasses.replace(recipe, stages=(dataclasses.replace(first, share=0.0), recipe.stages[1])))
    assert (found.operators, found.phases) == (("generate",), ("policy by policy gradient",))


@pytest.mark.parametrize("group", GROUPS)
def test_every_recipe_of_a_group_has_a_row(group: str) -> None:
    rows = table("blueprint", group).splitlines()
    named = [name for name in RECIPES if METHOD_OF[name] in GROUPS[group]]
    assert [row.split("`")[1] for row in rows[2:]] == named
