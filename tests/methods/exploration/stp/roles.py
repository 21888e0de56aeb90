"""Who learns what, by hand; `tests/roled.py` says what it means. The rounds are in the tests of the method."""

from roled import Roles, Step, truth

IMITATED = Step({"proposer pose:metamath": {(1.0,)}})
SHARES = (1, *[0] * 9)
ROLES = {name: Roles(truth, tasks={"metamath": 1}, steps=(IMITATED,), shares=SHARES) for name in ("stp", "stp-alone")}
