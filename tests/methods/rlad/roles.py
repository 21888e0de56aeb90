"""Who learns what, by hand; `tests/roled.py` says what it means."""

import dataclasses

from roled import CODEC, ONE_OF_FOUR, Roles, Step, truth

from assay.recipe import Recipe
from assay.types import Request


def written(request: Request) -> str:
    """With the first abstraction every other answer is right, with the others none, and without one the first."""
    if request.role == "abstraction":
        return f"idea {request.sample}"
    if request.tag == "bare":
        right = request.sample == 0
    else:
        right = "[idea 0]" in CODEC.decode(request.context.tolist()) and request.sample % 2 == 0
    return truth(request) if right else "9"


def every_second_bare(recipe: Recipe) -> Recipe:
    (ask,) = recipe.mechanism.ask
    asked = (dataclasses.replace(ask, bare_every=2),)  # type: ignore[call-arg]
    return dataclasses.replace(recipe, mechanism=dataclasses.replace(recipe.mechanism, ask=asked))


ANSWERS, ABSTRACTIONS = "policy mod-chain-7", "abstraction mod-chain-7"
HALF = 1 / 2 / (16 / 15 / 4) ** 0.5
EIGHTH = (16 / 15 * 1 / 8 * 7 / 8) ** 0.5
RIGHT, WRONG = 7 / 8 / EIGHTH, -1 / 8 / EIGHTH
OF_BOTH = {  # two of the four answers with the first of four abstractions are right
    ANSWERS: {(*[RIGHT, WRONG, WRONG, WRONG], *[WRONG] * 4, *[RIGHT, WRONG, WRONG, WRONG], *[WRONG] * 4)},
    ABSTRACTIONS: {ONE_OF_FOUR},  # of their means 1/2, 0, 0, 0
}
TASKS = {"mod-chain-7": 3}

ROLES = {
    "rlad": Roles(
        written,
        tasks=TASKS,
        steps=(
            Step({ABSTRACTIONS: {(1,)}}, learns={"proposer"}),
            Step(still={ANSWERS, ABSTRACTIONS}, learns=set()),
            Step({ABSTRACTIONS: {(1,) * 4}}, learns={"proposer"}),  # the one that helped, four times
            Step({ANSWERS: {(HALF, -HALF) * 8, (0, 0, 0, 0)}}, still={ABSTRACTIONS}),  # without one: the KL alone
        ),
        scale={"num_prompts": 2},
        changed=every_second_bare,
    ),
    "rlad-hierarchical": Roles(written, tasks=TASKS, steps=(Step(OF_BOTH),)),
    "rlad-two": Roles(written, tasks=TASKS, steps=(Step(OF_BOTH, learns={"policy", "proposer"}),)),
}
