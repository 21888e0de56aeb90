"""Who learns what, by hand; `tests/roled.py` says what it means."""

from roled import ONE_OF_FOUR, Roles, Step, truth

from assay.types import Request


def written(request: Request) -> str:
    """The policy's majority is right, the teacher's is not."""
    wrong = request.sample < 3 if request.role == "teacher" else request.sample == 0
    return "91" if wrong else truth(request)


ROLES = {
    "co-reward-teacher": Roles(
        written,
        tasks={"countdown": 3},
        steps=(Step({"policy countdown": {ONE_OF_FOUR}}, still={"teacher countdown"}),),
    ),
}
