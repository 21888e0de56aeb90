"""Answers that could not be verified: when a run warns of them, and when it ends."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from small_runs import Shell, make_model, steps_of, train_line
from tiny import episode

from assay.memory import Memory
from assay.record import RunFolder
from assay.run.lost_verdicts import LostVerdicts, lost_by
from assay.run.recorder import Recorder
from assay.types import Episode, Reward, Verdict


def answers(lost: int, of: int, kind: str = "worker_lost") -> list[Episode]:
    """A step with `of` answers, of which the first `lost` have no verdict."""
    made = episode([1, 1])
    verdicts = [Verdict.invalid(kind) if i < lost else Verdict.ok() for i in range(of)]
    return [dataclasses.replace(made, verdict=verdict, rewards=()) for verdict in verdicts]


def test_what_an_answer_was_lost_by_is_its_verdict_or_a_reward() -> None:
    (lost,), (judged,) = answers(1, 1), answers(0, 1)
    assert lost_by(lost) == "worker_lost" and lost_by(judged) == ""
    assert lost_by(dataclasses.replace(judged, rewards=(Reward.unknown("judge", "judge_down"),))) == "judge_down"
    assert lost_by(dataclasses.replace(judged, rewards=(Reward("outcome", 0.0),))) == ""


def test_a_few_are_an_accident() -> None:
    watch = LostVerdicts(warn=pytest.fail)
    assert [watch(answers(1, 20)) for _ in range(10)] == [""] * 10, "5 % is not more than 5 %"


def test_a_kind_that_becomes_frequent_is_told_once() -> None:
    told: list[str] = []
    watch = LostVerdicts(told.append)
    for _ in range(3):
        assert watch(answers(2, 20)) == ""
    assert len(told) == 1 and "2 of 20 answers" in told[0] and "worker_lost 2" in told[0]
    watch(answers(2, 20, "judge_down"))
    assert len(told) == 2 and "judge_down 2" in told[1]
    watch(answers(0, 20))
    watch(answers(2, 20, "judge_down"))
    assert len(told) == 3, "it is told again after a step without it"


def test_many_in_three_steps_one_after_the_other_end_the_run() -> None:
    watch = LostVerdicts(warn=lambda _: None)
    counts = [5, 5, 4, 5, 5, 5]  # of 20: more than a fifth, but for the third step
    assert [bool(watch(answers(count, 20))) for count in counts] == [False] * 5 + [True]


@pytest.mark.slow
def test_a_run_without_verdicts_is_stopped_with_its_state_saved(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What was trained is kept, and `assay resume` goes on from there when the verifier answers again."""
    shell, model, run = Shell(capsys), make_model(tmp_path / "small"), tmp_path / "run"
    original = Recorder.step

    def step(self: Recorder, memory: Memory, models: Any, episodes: Sequence[Episode], *others: Any) -> None:
        gone = Verdict.invalid("worker_lost", "gone") if memory.step > 2 else None
        original(self, memory, models, [dataclasses.replace(e, verdict=gone or e.verdict) for e in episodes], *others)

    monkeypatch.setattr(Recorder, "step", step)
    reply = shell(*train_line(model, run), "--steps", "8", "--quiet", "--json")
    assert reply.code == 75 and "could not be verified (worker_lost" in reply.document["message"]
    assert "assay resume" in reply.document["message"]
    assert steps_of(run) == [1, 2, 3, 4, 5] and RunFolder.read_only(run).store.steps()[-1] == 5
    monkeypatch.undo()
    assert shell("resume", run, "--quiet").code == 0
    assert steps_of(run) == list(range(1, 9))
