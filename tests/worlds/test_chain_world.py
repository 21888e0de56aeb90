"""A chain of states, worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from assay.rng import Key
from assay.tasks import task
from assay.worlds import Act, Numbers, Reply
from assay.worlds.chain import FAR, NEAR, chain


def replies(actions: list[int], *, start: int = 2, most: int = 9) -> list[Reply]:
    play = chain(5).start({"start": start, "most": most}, Key(0))
    return [play.open(), *(play.step(Act("policy", action=action)) for action in actions)]


def shown(reply: Reply) -> int | None:
    return None if reply.ask is None or reply.ask.seen is None else int(np.argmax(reply.ask.seen))


def test_both_ends_pay_and_end_it() -> None:
    right, left = replies([1, 1]), replies([0, 0])
    assert [shown(reply) for reply in right] == [2, 3, None] and [shown(reply) for reply in left] == [2, 1, None]
    assert right[-1].end == left[-1].end == "ended"
    assert right[-1].rewards == {"policy": FAR} and left[-1].rewards == {"policy": NEAR} and not right[1].rewards


def test_a_limit_cuts_it_off_where_more_would_come() -> None:
    *_, last = replies([1, 0, 1], most=3)
    assert last.end == "limit" and shown(last) == 3 and not last.rewards


def test_an_action_that_there_is_not_is_a_fault() -> None:
    assert "0 and 1, not 2" in replies([2])[-1].fault


def test_a_play_goes_on_from_where_it_was_saved() -> None:
    world, spec = chain(5), {"start": 2, "most": 3}
    assert world.numbers == Numbers(5, 2) and world.resume is not None
    play = world.start(spec, Key(0))
    play.open()
    play.step(Act("policy", action=1))
    saved = play.save()
    assert saved is not None
    again = world.resume(spec, Key(0), saved)
    for one in (play, again):
        assert [one.step(Act("policy", action=action)).end for action in (0, 1)] == ["", "limit"]
        assert one.judge()["policy"].status == "fail"


def test_the_worked_solution_goes_straight_to_the_far_end() -> None:
    known = task("chain:5")
    for number in range(5):
        problem = known.problem(Key(0)(number), level=1)
        assert known.verify(problem, known.wordings.solve(problem.spec).answer).status == "ok"
    with pytest.raises(Exception, match="3 to 64 states"):
        task("chain:70")
