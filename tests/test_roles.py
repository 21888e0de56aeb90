"""Of every recipe with several roles: whose rows train in which stage, with which labels, and whose weights move."""

from __future__ import annotations

import pytest
import roled

from assay.known import RECIPES


def test_every_recipe_with_several_roles_says_whom_it_teaches() -> None:
    several = {name for name, recipe in RECIPES.items() if len(recipe.roles) > 1}
    assert {*roled.table()} == several


@pytest.mark.parametrize("name", sorted(roled.table()))
def test_each_role_learns_what_its_paper_says_and_no_other_row_trains(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    roled.require(name, monkeypatch)
