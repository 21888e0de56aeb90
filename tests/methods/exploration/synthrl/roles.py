"""Who learns what, by hand; `tests/roled.py` says what it means."""

from roled import Roles, Step, truth

from assay.types import Request


def written(request: Request) -> str:
    """All answers are right but the first of a group."""
    if request.role == "evolver":
        return f"{request.problem.prompt}+{1 + request.sample}"
    return truth(request) if request.sample else "9"


ROLES = {
    "synthrl": Roles(
        written,
        tasks={"mod-chain-7": 2},
        steps=(
            Step(still={"policy mod-chain-7", "evolver mod-chain-7"}, learns=set()),
            Step({"policy mod-chain-7": {(-1.5, 0.5, 0.5, 0.5)}}),
        ),
    ),
}
