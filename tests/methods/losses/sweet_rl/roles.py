"""Who learns what, by hand; `tests/roled.py` says what it means."""

import dataclasses

from roled import Roles, Step, truth

from assay.methods.losses.sweet_rl.turns import Halves, TurnActions
from assay.recipe import Recipe
from assay.types import Request


def written(request: Request) -> str:
    """The first answer of each group gives the right letter at once, and the others a digit; so do actions."""
    return f"#{truth(request)[-1]}" if request.sample == 0 else "#7"


def of_two(recipe: Recipe) -> Recipe:
    """Two actions at a turn, of which one wins."""
    turns = dataclasses.replace(
        recipe.mechanism,
        expand=(TurnActions(count=2),),
        curate=(*recipe.mechanism.curate[:-1], Halves(most=1)),
    )
    return dataclasses.replace(recipe, mechanism=turns)


ROLES = {
    "sweet-rl": Roles(
        written,
        tasks={"wish": 1},
        steps=(
            Step(still={"policy wish"}, learns={"critic"}),
            Step({"turn wish": {(1, -1)}}, still={"policy wish"}),
        ),
        scale={"learning_rate": 0.05},  # what the critic learns outweighs what it is at first
        changed=of_two,
    )
}
