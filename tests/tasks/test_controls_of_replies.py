"""Controls of a world: the problems are those of the task, its replies are empty or those of another play."""

from __future__ import annotations

import pytest
from talking import replies, said
from test_tasks_oracles import problems

from assay.errors import DataError, UnknownName, UsageError
from assay.lab.world_check import HOSTILE
from assay.rng import Key
from assay.source import Share
from assay.tasks import task
from assay.tasks.task import SPLITS
from assay.tasks.worked import turns
from assay.types import Origin
from assay.worlds import Act
from assay.worlds.controls import elsewhere

KINDS = ["silent:", "shuffled:"]
WITH_TOOLS = ["search-small", "calculator", "sql-tool", "lookup-strict"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", WITH_TOOLS)
def test_problems_splits_and_verdicts_are_those_of_the_task(kind: str, name: str) -> None:
    known, control = task(name), task(kind + name)
    for split in SPLITS:
        for seed in range(3):
            level = known.generator.levels[seed % len(known.generator.levels)]
            one = known.problem(Key(seed), level=level, split=split)
            other = control.problem(Key(seed), level=level, split=split)
            assert (one.prompt, one.canonical, one.level) == (other.prompt, other.canonical, other.level)
            for text in (one.solution or "", "#", "#1", other.solution or ""):
                assert known.verify(one, text).status == control.verify(other, text).status
            assert control.split_of(other.spec) == split == known.split_of(one.spec)


def test_a_share_names_a_control_with_its_levels() -> None:
    share = Share.parse("silent:search-small:2,3=0.5")
    assert (share.task, share.levels, share.weight) == ("silent:search-small", (2, 3), 0.5)
    share = Share.parse("shuffled:game:nim-uniform:3")
    assert (share.task, share.levels) == ("shuffled:game:nim-uniform", (3,))


@pytest.mark.parametrize("name", WITH_TOOLS)
def test_a_silent_world_says_nothing_and_is_played_as_before(name: str) -> None:
    known, control = task(name), task("silent:" + name)
    for problem in problems(name, known.generator.first_level, 4):
        own = [text for text, origin in turns(problem, known) if origin != Origin.ENV]
        assert control.world is not None and known.world is not None
        heard, told = replies(control, problem.spec, *own[:-1]), replies(known, problem.spec, *own[:-1])
        assert [said(reply) for reply in heard] == [""] * len(heard)
        assert [reply.failed for reply in heard] == [reply.failed for reply in told]
        assert any(said(reply) for reply in told)


def test_shuffled_replies_are_those_of_the_worked_solution_of_another_of_the_level() -> None:
    wrong = task("shuffled:search-small")
    first, second = problems("shuffled:search-small", 2, 2)
    heard = [said(reply) for reply in replies(wrong, first.spec, *["[o Nobody]"] * 5)]
    assert heard[:2] == heard[2:4] and heard[4] == heard[0] and "!" not in heard
    assert heard == [said(reply) for reply in replies(wrong, first.spec, *["[s b]"] * 5)], "whatever is called"
    assert all(reply not in (first.solution or "") for reply in heard)
    assert wrong.world is not None and wrong.world.fork == "replay"
    assert wrong.world.start(second.spec, Key(0)).step(Act("policy", "#Xovan")).end == "ended"


@pytest.mark.parametrize("kind", KINDS)
def test_worked_solutions_hold_the_true_replies_and_are_not_imitated(kind: str) -> None:
    control = task(kind + "search-small")
    problem = control.problem(Key(0), level=2)
    assert problem.solution == task("search-small").problem(Key(0), level=2).solution
    with pytest.raises(DataError, match="does not reply as in worked solutions"):
        turns(problem, control)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", WITH_TOOLS)
def test_no_text_is_an_error_of_a_control(kind: str, name: str) -> None:
    control = task(kind + name)
    assert control.world is not None
    for problem in problems(kind + name, control.generator.first_level, 2):
        for text in HOSTILE:
            play = control.world.start(problem.spec, Key(0))
            play.open()
            first = play.step(control.world.act("policy", text, waits=True))
            again = control.world.start(problem.spec, Key(0))
            again.open()
            assert again.step(control.world.act("policy", text, waits=True)) == first and not first.fault
            play.close()
            play.close()


def test_a_game_goes_on_in_silence_and_what_is_heard_is_another_one() -> None:
    known, blind, wrong = (task(kind + "game:nim-best") for kind in ("", *KINDS))
    pairs = list[tuple[str, str]]()
    for problem in problems("shuffled:game:nim-best", 3, 6):
        plays = [each.world.start(problem.spec, Key(0)) for each in (known, blind, wrong) if each.world is not None]
        assert [play.open() for play in plays] == [plays[0].open()] * 3
        true, none, other = (said(play.step(Act("first", "1"))) for play in plays)
        left = problem.spec["heap"] - 1
        assert true in ([f"n{left - left % 4}"] if left % 4 else [f"n{left - taken}" for taken in (1, 2, 3)])
        assert none == ""
        pairs.append((true, other))
        for play in plays:
            assert play.step(Act("first", "9")).end == "ended"
        assert plays[0].judge() == plays[1].judge() == plays[2].judge()
    assert all(other for _, other in pairs) and any(true != other for true, other in pairs)


def test_nothing_is_heard_when_the_other_game_is_over() -> None:
    known = task("game:nim-best")
    assert known.world is not None
    short = elsewhere(known.world, lambda spec: {**spec, "heap": 4})
    play = short.start({"heap": 15, "opponent": "best", "seed": 3}, Key(0))
    play.open()
    heard = [said(play.step(Act("first", "1"))) for _ in range(3)]
    assert heard == ["", "", ""], "who leaves three sticks to the best play has lost"
    play.step(Act("first", "3"))
    assert set(play.judge()) == {"first"}


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("game:kuhn", "has 2 seats"),
        ("countdown", "'countdown' has no world"),
        ("chain:3", "shows numbers"),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_a_task_without_replies_has_no_control(kind: str, name: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        task(kind + name)


def test_a_control_of_an_unknown_task_is_refused() -> None:
    with pytest.raises(UnknownName, match="no task named 'nowhere'"):
        task("silent:nowhere")
