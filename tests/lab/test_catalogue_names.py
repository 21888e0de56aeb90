"""Techniques that exist under the names of recipes: each is found under its own by `list`, `show` and `explain`."""

from __future__ import annotations

import pytest
from of_methods import said
from small_runs import Shell

from assay import known
from assay.errors import UnknownName
from assay.known import RECIPES
from assay.lab import papers
from assay.lab.catalogue import card

pytestmark = pytest.mark.slow

HERE_AS = {
    "clip-family": "ppo",
    **said("HERE_AS"),
}
"""Name -> the first recipe of what the name means."""
NO_RECIPE = ("stat-passk", "stat-compare", "stat-bayes", "stream-logprob")


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


@pytest.mark.parametrize("name", [*HERE_AS, *NO_RECIPE])
def test_each_name_is_found_listed_and_shown(name: str, shell: Shell) -> None:
    (found,) = papers.find(name)
    assert found.here != "not yet" and found.commands
    assert shell("show", f"paper:{name}", "--json").document["name"] == found.name
    shown = shell("show", name)
    assert shown.code == 0 and name in shown.out


@pytest.mark.parametrize(("name", "recipe"), HERE_AS.items())
def test_what_has_a_recipe_is_explained(name: str, recipe: str, shell: Shell) -> None:
    told = shell("explain", name)
    assert told.code == 0 and told.out.startswith(f"{recipe}: ")
    assert (f"'{name}' runs here as {recipe}" in told.err) == (name != recipe)
    assert shell("explain", name, "--json").document["name"] == recipe
    assert papers.recipes_of(name)[0] == recipe and set(papers.recipes_of(name)) <= RECIPES.keys()


@pytest.mark.parametrize("name", NO_RECIPE)
def test_what_has_no_recipe_says_where_to_look(name: str, shell: Shell) -> None:
    told = shell("explain", name)
    assert told.code == 2 and f"'{name}' has no recipe. `assay show {name}`" in told.err


def test_a_name_is_spelt_freely_and_a_near_one_is_suggested() -> None:
    assert card("Clip family")["name"] == "clip-family" and card("CLIP-Family")["recipes"][0] == "ppo"
    with pytest.raises(UnknownName, match=r"no recipe, task, base, part or paper named 'clip-famly'.*'clip-family'"):
        card("clip-famly")
    with pytest.raises(UnknownName, match="no recipe, task, base, part or paper named '--'"):
        card("--")
    assert papers.recipes_of("grppo") == ("grppo",), "the recipes refuse it"


def test_other_names_of_recipes_are_spelt_as_they_are_looked_up() -> None:
    assert {known.spelt(name) for name in known.ALIASES} == set(known.ALIASES.values()) <= RECIPES.keys()


def test_a_name_of_several_papers_is_the_name_of_none() -> None:
    assert papers.named("dapo") is None, "a method and a corpus"
    assert papers.named("1707.06347") == papers.named("Proximal Policy Optimization with critic and GAE") is not None
