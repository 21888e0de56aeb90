"""Who learns what, by hand; `tests/roled.py` says what it means."""

from roled import Roles, Step, truth

from assay.types import Request


def written(request: Request) -> str:
    """Nobody solves the problem but with the hint, which three of four answers of the second group have."""
    if request.role == "hinter":
        return "think"
    right = request.tag == "nudged" and request.sample < 3
    return truth(request) if right else str(90 + request.sample)


ROLES = {
    "nurl": Roles(
        written,
        tasks={"countdown": 3},
        steps=(
            Step(still={"policy countdown"}, learns=set()),
            Step({"policy countdown": {(0.5, 0.5, 0.5, -1.5)}}, still={"hinter countdown"}),
        ),
    ),
}
