"""The recipes whose model poses problems itself, which it can of some tasks alone, and those that need tools."""

from __future__ import annotations

from assay.known import RECIPES
from assay.source import Pool, Share
from assay.tasks import task

POSING = tuple(name for name, recipe in RECIPES.items() if any(one.source.posed for one in recipe.mechanisms))


def imitates(name: str) -> bool:
    """Whether a stage of the recipe imitates worked examples."""
    own = [stage.mechanism.ask for stage in RECIPES[name].stages if stage.mechanism is not None]
    return any(part.imitates for asking in own for part in asking)


AT_ONCE = tuple(name for name in POSING if not imitates(name))
"""Those that imitate no examples of problems before they pose any, and so pose some within a few steps."""


def pool_of(name: str, usual: Pool) -> Pool:
    """A pool that the recipe may have: the usual one, unless it poses problems or is made for worlds with tools."""
    if name in POSING:
        return Pool((Share("dsl-deduction", (2,)),))
    own = next(iter(RECIPES[name].tasks), "")
    world = task(own).world if own else None
    if world is None or not world.tools:
        return usual
    return Pool((Share(own, (task(own).generator.first_level,)),))
