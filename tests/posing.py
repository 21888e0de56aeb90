"""The recipes whose model poses problems itself, which it can of some tasks alone."""

from __future__ import annotations

from assay.known import RECIPES

POSING = tuple(name for name, recipe in RECIPES.items() if any(one.source.posed for one in recipe.mechanisms))


def imitates(name: str) -> bool:
    """Whether a stage of the recipe imitates worked examples."""
    own = [stage.mechanism.ask for stage in RECIPES[name].stages if stage.mechanism is not None]
    return any(part.imitates for asking in own for part in asking)


AT_ONCE = tuple(name for name in POSING if not imitates(name))
"""Those that imitate no examples of problems before they pose any, and so pose some within a few steps."""
