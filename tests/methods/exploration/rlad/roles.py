"""Who learns what, by hand; `tests/roled.py` says what it means."""

import dataclasses

from roled import CODEC, Roles, Step, truth

from assay.recipe import Recipe
from assay.types import Request


def written(request: Request) -> str:
    """With the first abstraction every other answer is right, with the second the first one, with the others none, and
    without one the first of four.
    """
    if request.role == "abstraction":
        return f"idea {request.sample}"
    read = CODEC.decode(request.context.tolist())
    if "[idea 0]" in read:
        right = request.sample % 2 == 0
    else:
        right = request.sample == 0 and ("[idea 1]" in read or request.tag == "bare")
    return truth(request) if right else "9"


def every_second_bare(recipe: Recipe) -> Recipe:
    (ask,) = recipe.mechanism.ask
    asked = (dataclasses.replace(ask, bare_every=2),)  # type: ignore[call-arg]
    return dataclasses.replace(recipe, mechanism=dataclasses.replace(recipe.mechanism, ask=asked))


ANSWERS, ABSTRACTIONS = "policy mod-chain-7", "abstraction mod-chain-7"
HALF = 1 / 2 / (16 / 15 / 4) ** 0.5
SPREAD = (16 / 15 * 3 / 16 * 13 / 16) ** 0.5
RIGHT, WRONG = 13 / 16 / SPREAD, -3 / 16 / SPREAD
AWAY = (5 / 16, 1 / 16, -3 / 16, -3 / 16)
DEVIATION = (sum(one**2 for one in AWAY) / 3) ** 0.5
OF_BOTH = {  # of four answers with each of four abstractions: 2, 1, 0 and 0 are right
    ANSWERS: {(RIGHT, RIGHT, WRONG, WRONG, *[WRONG] * 4, RIGHT, *[WRONG] * 7)},
    ABSTRACTIONS: {tuple(one / DEVIATION for one in AWAY)},  # 1/2, 1/4, 0 and 0, less 3/16
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
