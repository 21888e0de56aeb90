"""Who learns what, by hand; `tests/roled.py` says what it means."""

from roled import Roles, Step, numbered

from assay.types import Request


def written(request: Request) -> str:
    """91, which keeps no rule, is judged twice, with 2 rules of 2 and with 1, and every other answer once, with none;
    of both judgements the judge of judges prefers the second. Of the other answers the solution is the longest.
    """
    if request.role == "policy":
        return numbered(request)
    read = request.problem.spec["answers"]["compact"]
    if request.role == "meta":
        return f"#{1 + read.index('+-#1')}"
    said = ("++#2", "+-#1") if read == ["91"] else ("--#0",)
    return said[request.sample] if request.sample < len(said) else "?"


ANSWERS = {"policy constraints": {(-1, 1)}}
META = {"meta compare:judge:constraints"}
BOTH = Step({**ANSWERS, "judge judge:constraints": {(-1, 1)}}, still=META)
ALONE = Step(ANSWERS, still={"judge judge:constraints"})

ROLES = {"meta-rewarding": Roles(written, tasks={"constraints": 2}, steps=(BOTH, BOTH, ALONE, ALONE))}
