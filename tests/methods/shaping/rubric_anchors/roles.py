"""Who learns what, by hand; `tests/roled.py` says what it means."""

from roled import ONE_OF_FOUR, Roles, Step, numbered

from assay.types import Request


def written(request: Request) -> str:
    """The judge finds that of all answers 91, which keeps no rule, keeps both."""
    if request.role != "judge":
        return numbered(request)
    return "++#2" if request.problem.spec["answers"]["compact"] == ["91"] else "--#0"


SECOND = tuple(ONE_OF_FOUR[i] for i in (1, 0, 2, 3))

ROLES = {
    "rubric-anchors-role": Roles(
        written,
        tasks={"constraints": 2},
        steps=(
            Step({"policy constraints": {ONE_OF_FOUR}}),
            Step({"policy constraints": {SECOND}}, still={"judge judge:constraints"}),
        ),
    ),
}
