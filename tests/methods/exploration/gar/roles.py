"""Who learns what, by hand; `tests/roled.py` says what it means. How the two play is in the tests of the method."""

from roled import Roles, Step, truth

ROLES = {
    "gar": Roles(
        truth,
        tasks={"metamath": 1},
        steps=(Step({"proposer pose:metamath": {(1.0,)}}, learns={"proposer"}),),
        shares=(1, 0),
    ),
}
