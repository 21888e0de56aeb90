"""Who learns what, by hand; `tests/roled.py` says what it means."""

import numpy as np
from roled import Roles, Step, truth

from assay.types import Request

POSED = ("i+s 472", "nd 801", "none", "none")


def written(request: Request) -> str:
    """Two of four texts are problems. Of 8 probes of the first 2 are right, of the second all. Of the four answers that
    train one is right, one wrong, and two cannot be read.
    """
    if request.role == "proposer":
        return POSED[request.draw]
    if request.tag == "probe":
        right = request.problem.spec["program"] == "nd" or request.sample < 2
    else:
        right = request.draw == FIRST
    return truth(request) if right else "99" if request.tag == "probe" or request.draw == FIRST + 1 else "x"


FIRST = 6  # draws: four texts, the probes of two problems


def cell(*rewards: float) -> set:
    """Each reward less the mean, over the deviation."""
    found = np.array(rewards)
    return {(float(one),) for one in (found - found.mean()) / found.std(ddof=1)}


POSING = "proposer pose:dsl-deduction"

ROLES = {
    "azr": Roles(
        written,
        tasks={"dsl-deduction": 2},
        steps=(
            Step(still={POSING}, learns=set()),
            Step({POSING: cell(1 - 2 / 8, -0.5, -1, -1), "policy dsl-deduction": cell(1, -0.5, -1, -1)}),
        ),
        scale={"num_prompts": 4, "group_size": 1},
    ),
}
