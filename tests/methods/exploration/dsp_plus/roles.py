"""Who learns what, by hand; `tests/roled.py` says what it means: nobody. A plan is drafted, and a proof written."""

from roled import Roles, Step, truth

from assay.types import Request


def written(request: Request) -> str:
    return "a plan" if request.role == "drafter" else truth(request)


STILL = frozenset({"drafter countdown", "policy countdown"})
ROLES = {"dsp-plus": Roles(written, tasks={"countdown": 3}, steps=(Step(still=STILL, learns=frozenset()),))}
