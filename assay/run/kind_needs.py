"""What a recipe needs of the kind of its policy. A kind that it cannot serve is refused before anything is loaded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from assay.credit import GAE
from assay.errors import ConfigError
from assay.forwards import Critic
from assay.known import RECIPES
from assay.part import kind_of, name_of, needed, parts_of
from assay.policy.kinds import ABILITIES, Ability, Kind
from assay.recipe import Recipe
from assay.run.experiment import Experiment
from assay.run.named_model import kind_of_model

PROPOSED = 5  # recipes that are named where another cannot serve a kind


def require_served(experiment: Experiment) -> None:
    """Refuses a recipe with a part that this kind of policy cannot serve, and names the part and other recipes. Nothing
    is refused where the kind is not known yet: loading the model will tell.
    """
    kind, recipe = kind_of_model(experiment.model), experiment.recipe
    if kind is None or (why := unserved(recipe, kind)) is None:
        return
    alike = sorted(serving(kind), key=lambda name: _valued(RECIPES[name]) != _valued(recipe))
    able = ", ".join(alike[:PROPOSED])
    raise ConfigError(
        f"{recipe.name} cannot train {experiment.model}, a policy of the kind {kind.name}: {why}. Take a recipe that "
        f"can, such as {able}, or a language model."
    )


def unserved(recipe: Recipe, kind: Kind) -> str | None:
    """The part of a recipe that a kind of policy cannot serve, and why; None if it serves all."""
    if _valued(recipe) and not kind.can("critics"):
        return f"its critic needs a policy that {ABILITIES['critics']}"
    for part in parts_of((recipe.mechanism, *(stage.mechanism for stage in recipe.stages))):
        if kind.can("numbers") and isinstance(part, GAE | Critic) and part.truncated == "end":
            slot = kind_of(part).slots[0]
            return (
                f"its part `{name_of(part)}` ({slot}) takes a limit for an end (truncated = end), and worlds have both"
            )
        for ability in needed(part):
            if not kind.can(cast(Ability, ability)):
                slot = kind_of(part).slots[0]
                return f"its part `{name_of(part)}` ({slot}) needs a policy that {ABILITIES[cast(Ability, ability)]}"
    return None


def _valued(recipe: Recipe) -> bool:
    """Whether it has a critic."""
    return any(model.valued for model in recipe.models.values())


def serving(kind: Kind) -> Iterator[str]:
    """The names of the recipes that a kind of policy serves, the best known first."""
    return (name for name in RECIPES if unserved(RECIPES[name], kind) is None)
