"""Who learns what, by hand; `tests/roled.py` says what it means."""

from roled import Roles, Step, numbered

from assay.types import Request


def written(request: Request) -> str:
    """The verifier finds 91, which is wrong, correct, and everything else incorrect; of 93 it says nothing."""
    if request.role != "verifier":
        return numbered(request)
    return {"91": "#Correct", "93": "#93"}.get(request.problem.spec["candidate"], "#Incorrect")


SECOND = (-1 / 3**0.5, 2 / 3**0.5, -1 / 3**0.5)
"""0, 1 and 0, less a third, over the deviation of three. What has no judgement does not train."""

ROLES = {
    "cosine-verified": Roles(
        written,
        tasks={"calculator": 2},
        steps=(Step({"policy calculator": {SECOND}}, still={"verifier equivalence"}),),
    ),
}
