"""Who learns what, by hand; `tests/roled.py` says what it means."""

from roled import ONE_OF_FOUR, Roles, Step, truth

from assay.types import Request

HALF = 3**0.5 / 2  # 1/2 over the deviation of 1, 1, 0, 0


def written(request: Request) -> str:
    """One of four answers to countdown is right, so that it is hard, and two of four to the text of the rewriter; to
    the other problem none, and none to its text.
    """
    if request.role == "rewriter":
        return "easier"
    right = request.sample < (2 if request.tag == "hard" else 1)
    return truth(request) if right and request.problem.task == "countdown" else str(90 + request.sample)


TASKS = {"countdown": 3, "mod-chain-7": 2}
ALL_WRONG = "policy mod-chain-7"
ANSWERS = {"policy countdown": {ONE_OF_FOUR, (HALF, HALF, -HALF, -HALF)}}
ROLES = {
    "clpo": Roles(
        written,
        tasks=TASKS,
        steps=(Step(ANSWERS, still={ALL_WRONG, "rewriter countdown", "rewriter mod-chain-7"}),),
    ),
    "clpo-rewriter": Roles(
        written,
        tasks=TASKS,
        steps=(
            Step(
                {**ANSWERS, "rewriter countdown": {(2 / 4 - 1 / 4,)}, "rewriter mod-chain-7": {(0,)}},
                still={ALL_WRONG},
            ),
        ),
    ),
}
