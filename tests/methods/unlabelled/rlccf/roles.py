"""Who learns what, by hand; `tests/roled.py` says what it means."""

from roled import Roles, Step, truth

from assay.types import Request


def written(request: Request) -> str:
    """The first model is right and sure; the others mostly agree on what is wrong."""
    if request.role == "policy":
        return truth(request)
    return "91" if request.sample < 3 else {"second": "92", "third": "93"}[request.role]


VOTED = {(0.5, 0.5, 0.5, -1.5)}  # the label is 91: 2 times 3 votes of weight 3/4 against 4 of weight 1

ROLES = {
    "rlccf": Roles(
        written,
        tasks={"countdown": 3},
        steps=(
            Step(
                {"policy countdown": {(0, 0, 0, 0)}, "second countdown": VOTED, "third countdown": VOTED},
                learns={"policy", "second", "third"},
            ),
        ),
    ),
}
