"""Who learns what, by hand; `tests/roled.py` says what it means."""

from roled import Roles, Step, numbered

from assay.types import Request

WRONG = {"1": "#2", "2": "#1", "0": "#0"}


def written(request: Request) -> str:
    """Of answers that are judged the critic prefers the worse: 91 to 93, which break every rule, to the solution."""
    if request.problem.task == "compare:constraints" and request.sample == 0:
        return WRONG[str(request.problem.spec["score"])]
    return numbered(request)


ROLES = {
    "k2-critic": Roles(
        written,
        tasks={"countdown": 3, "constraints": 2},
        steps=(
            Step(
                {
                    "policy countdown": {(3 / 4, -1 / 4, -1 / 4, -1 / 4)},  # the verifier: 1, 0, 0, 0
                    "policy constraints": {(-1 / 2, 1 / 6, 1 / 6, 1 / 6)},  # the critic: 0 of 3 wins, and 2 of 3
                    "critic compare:countdown": {(1 / 2, -1 / 2), (0, 0)},  # 1 for the truth; of two wrong ones nothing
                },
                still={"critic compare:constraints"},
                learns={"policy", "critic"},
            ),
        ),
    ),
}
