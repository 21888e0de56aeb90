"""Who learns what, by hand; `tests/roled.py` says what it means."""

from roled import ONE_OF_FOUR, Roles, Step

from assay.types import Request

POSED = ("i+s 472", "nd 801", "none", "none")
SPREAD = (5 / 8 * 3 / 7) ** 0.5  # of five times 1 and three times 0
VOTED = (*[3 / 8 / SPREAD] * 5, *[-5 / 8 / SPREAD] * 3)


def written(request: Request) -> str:
    """Two of four texts are problems. Of 8 answers to the first 5 agree, though on a wrong one; all to the second."""
    if request.role == "proposer":
        return POSED[request.sample]
    if request.problem.spec["program"] == "nd":
        return "7"
    return "99" if request.sample < 5 else str(90 + request.sample)


# tent: 1 - 2 |5/8 - 1/2| = 3/4, and 0 where all agree; band: 1 and 0; no problem: 0
PROPOSER = {"proposer pose:dsl-deduction": {ONE_OF_FOUR}}

ROLES = {
    "r-zero": Roles(
        written,
        tasks={"dsl-deduction": 2},
        steps=(Step({**PROPOSER, "policy dsl-deduction": {VOTED}}, learns={"policy", "proposer"}),),
    ),
    "sqlm": Roles(
        written,
        tasks={"dsl-deduction": 2},
        steps=(Step({**PROPOSER, "policy dsl-deduction": {VOTED, (0,) * 8}}),),
    ),
}
