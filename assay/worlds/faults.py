"""What goes wrong in a world: it is a fault of ours, told with the play, and never an exception of the run."""

from __future__ import annotations

import math

from assay.worlds.play import Act, Play, Reply


def replied(play: Play, act: Act) -> Reply:
    """The reply to an act. What goes wrong in a world is a fault of ours, and is told with the play."""
    try:
        return checked(play.step(act))
    except Exception as error:  # the play is lost, counted and told; other plays go on
        return Reply(fault=told(error))


def checked(reply: Reply) -> Reply:
    """The reply; a fault in its place if it pays what is no number."""
    wrong = [name for name, value in (*reply.rewards.items(), *reply.costs.items()) if not math.isfinite(value)]
    return Reply(fault=f"the reward of {wrong[0]} is not a number") if wrong else reply


def told(error: Exception) -> str:
    """What went wrong in a world, in a line."""
    return f"{type(error).__name__}: {error}"
