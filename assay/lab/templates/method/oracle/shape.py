"""What the paper says of the tokens of a step, in plain Python. Fill in: write it from the paper, not from the code."""

from formulas import clipped, own_mean, standardised
from oracles import Oracle, Rows


def damped(rows: Rows) -> list[list[float]]:
    """A / 2 where A < 0."""
    return [[a / 2 if a < 0 else a for a in row] for row in rows]


ORACLES = {"my-method": Oracle(standardised(), clipped(kl=0.04), own_mean, shape=damped)}
