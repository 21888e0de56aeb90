"""Who learns what, by hand; `tests/roled.py` says what it means."""

from roled import Roles, Step

from assay.types import Request

POSED = ("i+s 472", "nd 801", "none", "none")
SPREAD = (3 / 4 * 1 / 4) ** 0.5  # of 12 times 1 and 4 times 0


def written(request: Request) -> str:
    """Two of four texts are problems. Of 16 answers to the first 12 agree, though on a wrong one; all to the second."""
    if request.role == "proposer":
        return POSED[request.sample]
    if request.problem.spec["program"] == "nd":
        return "77"
    return "99" if request.sample < 12 else str(70 + request.sample)


VOTED = (*[1 / 4 / SPREAD] * 12, *[-3 / 4 / SPREAD] * 4)

ROLES = {
    "serl": Roles(
        written,
        tasks={"dsl-deduction": 2},
        steps=(Step({"policy dsl-deduction": {VOTED}}, still={"proposer pose:dsl-deduction"}),),
    ),
}
