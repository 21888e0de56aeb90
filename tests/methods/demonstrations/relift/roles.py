"""Who learns what, by hand; `tests/roled.py` says what it means."""

import dataclasses

from roled import Roles, Step, truth

from assay.recipe import Recipe
from assay.types import Request


def written(request: Request) -> str:
    """One of four answers to one problem is right, none to the other."""
    right = request.problem.task == "countdown" and request.sample == 0
    return truth(request) if right else str(90 + request.sample)


def studied_at_once(recipe: Recipe) -> Recipe:
    (study,) = recipe.mechanism.expand
    expand = (dataclasses.replace(study, size=1),)  # type: ignore[call-arg]
    return dataclasses.replace(recipe, mechanism=dataclasses.replace(recipe.mechanism, expand=expand))


ANSWERS = {
    "policy countdown": {(3 / 4, -1 / 4, -1 / 4, -1 / 4)},
    "policy mod-chain-7": {(0, 0, 0, 0)},  # all wrong: it trains with advantage 0, and is kept for study
}
ROLES = {
    "relift": Roles(
        written,
        tasks={"countdown": 3, "mod-chain-7": 2},
        steps=(Step(ANSWERS), Step({**ANSWERS, "student mod-chain-7": {(1,)}})),
        shares=(2,),
        changed=studied_at_once,
    ),
}
