"""Who learns what, by hand; `tests/roled.py` says what it means."""

from roled import Roles, Step, truth

from assay.types import Request


def written(request: Request) -> str:
    """Wrong answers differ from the right one in their last digit; the rewriter corrects them."""
    right = request.role == "rewriter" or request.sample == 0
    return truth(request) if right else truth(request)[:-1] + "9"


BLAMED = (-0.1, -0.1, -0.1)  # p - 1/2 of a rewriter that knows little, at least -0.1; of right answers at least 0
IMITATED = (0.5, 1, 1, 1)  # half the weight where nothing was edited, all of it where something was

ROLES = {
    "rlmec": Roles(
        written,
        tasks={"mod-chain-7": 2},
        steps=(
            Step({"rewriter mod-chain-7": {(1, 1, 1, 1)}}, still={"policy mod-chain-7"}, learns={"rewriter"}),
            Step({"policy mod-chain-7": {BLAMED, IMITATED}}, still={"rewriter mod-chain-7"}),
        ),
    ),
}
