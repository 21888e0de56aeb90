"""AZR on programs in Python: what is posed runs in the sandbox, and both roles train on what comes of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import roled
from roled import Roles, Step, truth

from assay.tasks import task
from assay.types import Request

POSED: Sequence[str] = ("sorted(x)[:2];[4,2,9]", "x[1];[7,8]", "1/0;[1]", "id(x);[1]")
POSING = "proposer pose:python-deduction"


def written(request: Request) -> str:
    """Two of four texts are programs that run and have a value. Of 8 probes of the first 2 are right, and of the
    second all. Of the four answers that train one is right, one wrong, and two cannot be read.
    """
    if request.role == "proposer":
        return POSED[request.draw]
    if request.tag == "probe":
        right = request.problem.spec["program"] == "x[1]" or request.sample < 2
    else:
        right = request.draw == 6
    return truth(request) if right else "99" if request.tag == "probe" or request.draw == 7 else "x"


def cell(*rewards: float) -> set[tuple[float]]:
    """Each reward less the mean, over the deviation."""
    found = np.array(rewards)
    return {(float(one),) for one in (found - found.mean()) / found.std(ddof=1)}


ROLES = Roles(
    written,
    tasks={"python-deduction": 1},
    steps=(
        Step(still={POSING}, learns=set()),
        Step({POSING: cell(1 - 2 / 8, -0.5, -1, -1), "policy python-deduction": cell(1, -0.5, -1, -1)}),
    ),
    scale={"num_prompts": 4, "group_size": 1},
)


@pytest.mark.slow
@pytest.mark.external("sandbox")
def test_programs_that_run_are_problems_and_both_roles_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    known = task("python-deduction")
    for text in POSED[:2]:
        program, _, given = text.partition(";")
        assert known.split_of({"program": program, "input": given}) == "train"
    monkeypatch.setattr(roled, "table", lambda: {"azr": ROLES})
    roled.require("azr", monkeypatch)
