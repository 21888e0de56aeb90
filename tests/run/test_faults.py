"""Answers on which our own code raises: their text is kept, the run says so, and no other answer is touched."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from altered import altered
from small_runs import Shell, make_model, steps_of, train_line
from tiny import episode

from assay import tasks
from assay.record import RunFolder
from assay.record.measure import step_stats
from assay.run import faults
from assay.run.grader import Grader
from assay.types import Episode, Verdict


def answers(*verdicts: Verdict, text: str = "?") -> list[Episode]:
    made = dataclasses.replace(episode([1, 1]), text=text, rewards=())
    return [dataclasses.replace(made, verdict=verdict) for verdict in verdicts]


def test_equal_answers_have_one_record_and_other_errors_have_none() -> None:
    bug = Verdict.invalid("bug", "tiny: ValueError: no (check.py:3)")
    found = faults.records(4, answers(bug, bug, Verdict.invalid("worker_lost"), Verdict.fail("wrong"), Verdict.ok()))
    assert [(one["step"], one["task"], one["raised"], one["text"]) for one in found] == [(4, "tiny", bug.detail, "?")]
    (odd,) = faults.records(4, answers(bug, text="a\ud800b"))
    assert json.loads(json.dumps(odd, ensure_ascii=False).encode())["text"] == "a\\ud800b"
    assert "in runs/x.jsonl" in faults.told(found, Path("runs/x.jsonl")) and bug.detail in faults.told(found, None)


def test_what_could_not_be_decided_within_the_means_of_an_answer_is_counted() -> None:
    undecided, late = Verdict.fail("undecided"), Verdict.fail("time")
    stats = step_stats(answers(undecided, undecided, late, Verdict.fail("wrong"), Verdict.ok()), [])
    assert (stats["reward/failed/undecided"], stats["reward/failed/time"]) == (2, 1)
    assert "reward/failed/undecided" not in step_stats(answers(Verdict.ok()), [])


def test_a_step_whose_judging_takes_more_than_its_budget_is_told_once() -> None:
    judge = Grader()
    judge.seconds, judge.spent = 40.0, {"coq": 35.0, "countdown": 5.0}
    assert judge.measured() == {"time/reward": 40.0, "time/verify/coq": 35.0, "time/verify/countdown": 5.0}
    assert judge.slow({"time/step": 50.0}, budget=40.0) is None
    said = judge.slow({"time/step": 50.0}, budget=30.0)
    assert said is not None and all(
        part in said for part in ("40 s, 80% of the step", "35 s", "'coq'", "machine.verifying")
    )
    assert judge.slow({"time/step": 50.0}, budget=30.0) is None
    judge.at(2)
    assert judge.measured()["time/reward"] == 0.0 and "time/verify/coq" not in judge.measured()


@pytest.mark.slow
def test_a_planted_exception_is_told_and_kept_and_the_run_goes_on(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    countdown = tasks.task("countdown")
    broken: list[str] = []

    def check(spec: Any, text: str) -> Verdict:
        if len(text) % 2:
            broken.append(text)
            raise ZeroDivisionError("planted")
        return countdown.checker.check(spec, text)

    monkeypatch.setitem(tasks.TASKS, "countdown", altered(countdown, check=check))
    shell, model, run = Shell(capsys), make_model(tmp_path / "small"), tmp_path / "run"
    many = ("--scale.num-prompts", "8", "--scale.group-size", "16")  # a random model seldom ends its answers
    reply = shell(*train_line(model, run, "--steps", "2", *many))
    assert reply.code == 0 and steps_of(run) == [1, 2]
    assert broken, "some answers end, and have an odd length"
    records = [
        json.loads(line) for path in sorted((run / "faults").iterdir()) for line in path.read_text().splitlines()
    ]
    assert records and {one["raised"][:48] for one in records} == {"countdown: ZeroDivisionError: planted (test_faul"}
    assert all(len(one["text"].rpartition("#")[2].strip()) % 2 for one in records)
    assert "a fault of Assay; it is kept in" in " ".join(reply.err.split())
    assert RunFolder.read_only(run).read("metrics")[0]["reward/verifier_failed"] > 0
