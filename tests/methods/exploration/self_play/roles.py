"""Who learns what, by hand; `tests/roled.py` says what it means."""

from roled import Roles, Step

from assay.types import Request


def moves(request: Request) -> str:
    """Both pass, and the higher card wins a chip. In the first game the first player makes no legal move, which costs
    three chips before the second one acts; in the second game the second player makes none.
    """
    errs = request.sample == (0 if request.role == "policy" else 1)
    return "?" if errs else "p"


WON = 1.0
"""What the first player wins in a showdown of the deal that is dealt here, where it holds the higher card."""
FIRST = (-3 - WON / 2, 3 - WON / 2, WON / 2, WON / 2)  # -3, 3, WON, WON, less their mean
SECOND = (-2 + 2 * WON / 3, 1 - WON / 3, 1 - WON / 3)  # -3, -WON, -WON, less their mean

ROLES = {
    "self-play-two": Roles(
        moves,
        tasks={"game:kuhn-opponent": 1},
        steps=(
            Step(
                {"policy game:kuhn-opponent": {FIRST}, "opponent game:kuhn-opponent": {SECOND}},
                learns={"policy", "opponent"},
            ),
        ),
    )
}
