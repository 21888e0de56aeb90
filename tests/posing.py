"""The recipes whose model poses problems itself, which it can of some tasks alone."""

from __future__ import annotations

from assay.known import RECIPES

POSING = tuple(name for name, recipe in RECIPES.items() if any(one.source.posed for one in recipe.mechanisms))
