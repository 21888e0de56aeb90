"""Recipes that stand for others: of those with the same objective, or the same credit, the first.

What an engine promises of an objective it promises whatever the recipe is called. A method that is made of parts that
there are adds nothing to suites over these.
"""

from __future__ import annotations

from collections.abc import Callable

from assay.known import RECIPES
from assay.recipe import Mechanism


def first_of_each(key: Callable[[Mechanism], object]) -> tuple[str, ...]:
    """For each thing that some recipe has the first recipe that has it."""
    found: dict[str, str] = {}
    for name, recipe in RECIPES.items():
        found.setdefault(repr(key(recipe.mechanism)), name)
    return tuple(sorted(found.values()))


OBJECTIVES = first_of_each(lambda mechanism: mechanism.objective)
CREDITS = first_of_each(lambda mechanism: (mechanism.credit, mechanism.shape))
