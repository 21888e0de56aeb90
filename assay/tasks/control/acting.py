"""What tasks in worlds of numbers share: an answer is the numbers of its actions, and its verdict is that of the world
in which they are taken again.
"""

from __future__ import annotations

from assay.rng import Key
from assay.tasks.task import Spec
from assay.types import Verdict
from assay.worlds import Act, World

_MOST = 1 << 20  # characters of an answer


def acted(world: World, spec: Spec, text: str) -> Verdict:
    """The verdict on actions that are written as `0 1 1`, by taking them. Actions behind the end are an error."""
    words = text.split() if len(text) <= _MOST else []
    numbers = [int(word) for word in words if word.isdecimal() and len(word) < 6]
    if not words or len(numbers) < len(words) or max(numbers) >= _actions(world):
        return Verdict.fail("format", f"expected actions from 0 to {_actions(world) - 1}, such as 0 1 1")
    play = world.start(spec, Key("acted"))
    try:
        reply = play.open()
        for number in numbers:
            if reply.ask is None or reply.end:
                return Verdict.fail("wrong", "there are actions behind the end")
            reply = play.step(Act(world.seats[0].name, action=number))
        return play.judge()[world.seats[0].name]
    finally:
        play.close()


def _actions(world: World) -> int:
    assert world.numbers is not None
    return world.numbers.actions
