"""Who learns what, by hand; `tests/roled.py` says what it means."""

from roled import Roles, Step, truth

from assay.types import Request

WHITENED = 3**0.5 / 2  # 1 over the deviation of 1, 1, -1, -1


def written(request: Request) -> str:
    """Two of four answers are right, and the verifier calls all of them right."""
    if request.role == "verifier":
        return "+"
    return truth(request) if request.sample < 2 else str(90 + request.sample)


ROLES = {
    "heimdall": Roles(
        written,
        tasks={"countdown": 3},
        steps=(
            Step({"verifier countdown": {(1,)}}, still={"policy countdown"}),
            Step(
                {"verifier countdown": {(WHITENED,), (-WHITENED,)}},
                still={"policy countdown"},
                learns={"policy", "critic"},  # `policy` are the weights of the verifier, and `critic` its values
            ),
        ),
    ),
}
