"""The world by hand; its contract; three steps of training."""

from __future__ import annotations

from pathlib import Path

from assay import check_world
from assay.lab.templates.world.my_world import MOST, MY_WORLD, Climb
from assay.lab.trial import small_run
from assay.worlds import Call, Reply
from assay.worlds.play import Act


def climb(*steps: str, height: int = 0) -> tuple[Climb, list[Reply]]:
    play = Climb({"top": 12, "loose": "2 9"}, height)
    return play, [play.step(Act("policy", calls=(Call("climb", {"steps": step}),))) for step in steps]


def test_a_climb_by_hand() -> None:
    play, (first, second, last) = climb("1", "7", "4")
    assert [line.text for line in first.ask.say] == ["1;"] if first.ask else False
    assert [reply.rewards["policy"] for reply in (first, second, last)] == [1 / 12, 7 / 12, 4 / 12]
    assert last.end == "ended" and {verdict.status for verdict in play.judge().values()} == {"ok"}


def test_a_loose_step_lets_the_climber_fall() -> None:
    play, (reply,) = climb("1", height=1)
    assert play.height == 0 and reply.rewards == {"policy": -1 / 12}


def test_what_is_no_step_is_said_to_be_an_error() -> None:
    _, replies = climb("0", "", "up", "11")
    assert all(reply.failed and not reply.rewards for reply in replies)


def test_a_climb_has_so_many_moves() -> None:
    _, replies = climb(*["no"] * MOST)
    assert [reply.end for reply in replies] == [""] * (MOST - 1) + ["limit"]


def test_the_watcher_sees_the_loose_steps() -> None:
    ask = Climb({"top": 12, "loose": "2 9"}, 0).open().ask
    assert ask is not None and ask.seat == "watcher" and "2 9" in ask.say[0].text


def test_it_keeps_the_contract_of_a_world() -> None:
    checked = check_world(MY_WORLD)
    assert checked.calls > 40 and checked.rewards > 10


def test_three_steps_of_training(tmp_path: Path) -> None:
    run = small_run("grpo", tmp_path, task="my-world", levels=[5])
    assert [record["step"] for record in run.metrics()] == [1, 2, 3]
