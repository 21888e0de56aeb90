"""Who learns what, by hand; `tests/roled.py` says what it means."""

from roled import Roles, Step, numbered

ROLES = {
    "cloud": Roles(
        numbered,
        tasks={"quantities": 3},
        steps=(
            Step(
                {"critic judge:quantities": {(1,)}}, still={"policy quantities"}, learns={"reward-model"}
            ),  # shown critiques are imitated
            Step(still={"policy quantities", "critic judge:quantities"}, learns={"reward-model"}),
            Step({"policy quantities": "learnt-score"}, still={"critic judge:quantities"}),
        ),
    ),
}
