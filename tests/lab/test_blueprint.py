"""The components of recipes, by hand for some, and that no other recipe has all of those of `x1`."""

from __future__ import annotations

import dataclasses

import pytest

from assay.known import GROUPS, METHOD_OF, RECIPES
from assay.lab.blueprint import components
from assay.lab.pages import table


def test_a_plain_recipe() -> None:
    found = components(RECIPES["grpo"])
    assert (found.structure, found.operators) == ("chain", ("generate",))
    assert (found.evaluates, found.models) == (("outcomes",), ())
    assert found.phases == ("policy by policy gradient",)


def test_a_tree_with_values_of_steps() -> None:
    found = components(RECIPES["math-shepherd"])
    assert (found.structure, found.operators) == ("tree", ("generate", "branch"))
    assert found.evaluates == ("outcomes", "spans", "by critic")
    assert found.models == ("critic (values)",)


def test_stages_roles_and_what_learns_in_each() -> None:
    found = components(RECIPES["cloud"])
    assert found.operators == ("generate", "ask critic")
    assert found.models == ("reward-model (policy with values)",)
    assert found.phases == ("critic", "reward-model", "policy by policy gradient")
    assert components(RECIPES["sft"]).operators == ("imitate",)
    assert components(RECIPES["dpo"]).phases == ("policy by a loss of its own",)


def test_a_critic_that_learns_from_some_tasks_learns_and_a_stage_that_seeds_a_pool_teaches_nobody() -> None:
    assert components(RECIPES["k2-critic"]).phases == ("policy by policy gradient and critic",)
    assert components(RECIPES["azr"]).phases == ("nothing", "policy by policy gradient and proposer")


def test_no_other_recipe_has_all_components_of_x1() -> None:
    own = components(RECIPES["x1"])
    assert own.phases == ("policy by imitation", "value", "policy by policy gradient and value")
    named = {name: components(recipe).every for name, recipe in RECIPES.items() if name != "x1"}
    without = {(where, what) for where, what in own.every if "value" not in what}  # names of models differ
    valued = {name for name, recipe in RECIPES.items() if any(model.valued for model in recipe.models.values())}
    assert [name for name, every in named.items() if name in valued and without <= every] == []


def test_a_stage_without_steps_does_not_count() -> None:
    recipe = RECIPES["x1"]
    stages = tuple(dataclasses.replace(stage, share=0.0) for stage in recipe.stages[:2])
    found = components(dataclasses.replace(recipe, stages=(*stages, recipe.stages[2])))
    assert found.operators == ("generate", "branch") and found.phases == ("policy by policy gradient and value",)


@pytest.mark.parametrize("group", GROUPS)
def test_every_recipe_of_a_group_has_a_row(group: str) -> None:
    rows = table("blueprint", group).splitlines()
    named = [name for name in RECIPES if METHOD_OF[name] in GROUPS[group]]
    assert [row.split("`")[1] for row in rows[2:]] == named
