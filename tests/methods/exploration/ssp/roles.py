"""Who learns what, by hand; `tests/roled.py` says what it means."""

from roled import Roles, Step, truth

from assay.types import Request

POSED = ("i+s 472", "nd 801", "none", "none")


def written(request: Request) -> str:
    """Two of four texts are problems. A reader comes to the answer of the first, and not to that of the second. Of five
    answers to the first two are right.
    """
    if request.role == "proposer":
        return POSED[request.draw]
    if request.tag == "check":
        return truth(request) if request.problem.spec["spec"]["program"] == "i+s" else "99"
    return truth(request) if request.sample < 2 else "99"


SPREAD = ((2 * 0.6**2 + 3 * 0.4**2) / 4) ** 0.5  # of twice 1 and three times 0

ROLES = {
    "ssp": Roles(
        written,
        tasks={"dsl-deduction": 2},
        steps=(
            Step(
                {
                    "proposer pose:dsl-deduction": {(1 - 2 / 5,), (0.0,)},
                    "policy dsl-deduction": {(*[0.6 / SPREAD] * 2, *[-0.4 / SPREAD] * 3)},
                },
                still={"policy given:dsl-deduction"},
            ),
        ),
        scale={"num_prompts": 4, "group_size": 1},
    ),
}
