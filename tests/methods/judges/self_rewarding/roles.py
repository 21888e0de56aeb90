"""Who learns what, by hand; `tests/roled.py` says what it means."""

from roled import Roles, Step, numbered

from assay.types import Request


def written(request: Request) -> str:
    """The judge finds 91 the best of all answers, which keeps no rule; of the others the solution is the longest."""
    if request.role != "judge":
        return numbered(request)
    return "++#2" if request.problem.spec["answers"]["compact"] == ["91"] else "--#0"


STEP = Step({"policy constraints": {(-1, 1)}}, still={"judge judge:constraints"})

ROLES = {"self-rewarding": Roles(written, tasks={"constraints": 2}, steps=(STEP, STEP, STEP))}
