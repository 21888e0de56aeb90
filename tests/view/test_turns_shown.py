"""What the report and tables show of turns: authors, errors, seats of one play, walks, faults of a world."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assay.record import RunFolder
from assay.view.findings import alarms, curves, results
from assay.view.plays import metrics_of_plays, play_lines, play_rows, plays_of
from assay.view.reading import MAX_WALK, rollouts_to_read
from assay.view.report import write_report

TURNS = [
    {"author": "policy", "start": 0, "stop": 2, "tokens": 2, "failed": False, "earned": 0.5, "reads": None},
    {"author": "world", "start": 2, "stop": 3, "tokens": 1, "failed": True, "earned": None, "reads": None},
    {"author": "policy", "start": 3, "stop": 5, "tokens": 2, "failed": False, "earned": None, "reads": "anew"},
]


def row(**changes: Any) -> dict[str, Any]:
    plain = {"step": 0, "group": "0:1", "prompt": "asked", "completion": "ab!cd", "verdict": "ok", "finish": "stop"}
    plain |= {"tokens": [1, 2, 9, 3, 4], "reward": 1.0, "request": "r", "sample": 0, "answer": "", "task": "t"}
    return plain | {"seat": "policy", "play": "0:1#0", "turns": TURNS} | changes


def read(folder: Path, *rows: dict[str, Any]) -> list[dict[str, Any]]:
    """The groups that the report shows of these rows."""
    names = list(dict.fromkeys(name for one in rows for name in one))
    with RunFolder.create(folder, identity={}) as run:
        run.write_rollouts(0, {name: [one.get(name) for one in rows] for name in names})
    return rollouts_to_read(RunFolder.read_only(folder))["groups"]


def test_an_answer_is_shown_in_turns(tmp_path: Path) -> None:
    ((shown,),) = ([group["rows"] for group in read(tmp_path / "run", row())],)
    assert shown[0]["turns"] == [
        {"author": "policy", "tokens": 2, "text": "ab", "earned": 0.5},
        {"author": "world", "tokens": 1, "text": "!", "failed": True},
        {"author": "policy", "tokens": 2, "text": "cd", "reads": "anew"},
    ]
    assert "prompt" not in shown[0], "the group has it"


def test_where_tokens_are_shown_turns_do_not_repeat_them(tmp_path: Path) -> None:
    (group,) = read(tmp_path / "run", row(pieces=list("ab!cd")))
    assert [set(turn) & {"text"} for turn in group["rows"][0]["turns"]] == [set()] * 3
    assert sum(turn["tokens"] for turn in group["rows"][0]["turns"]) == len(group["rows"][0]["tokens"])


def test_the_seats_of_a_play_stand_together_each_with_what_it_read(tmp_path: Path) -> None:
    rows = [row(sample=0), row(sample=1, play="0:1#1")]
    helpers = [
        row(sample=i, play=f"0:1#{i}", seat="helper", group="0:1/helper", prompt=f"secret {i}", turns=[])
        for i in (0, 1)
    ]
    (group,) = read(tmp_path / "run", *rows, *helpers)
    told = [(one["play"], one["seat"], one.get("prompt")) for one in group["rows"]]
    assert told == [
        ("0:1#0", "policy", None),
        ("0:1#0", "helper", "secret 0"),
        ("0:1#1", "policy", None),
        ("0:1#1", "helper", "secret 1"),
    ]
    assert (group["group"], group["prompt"]) == ("0:1", "asked")


def test_an_earlier_version_wrote_no_turns(tmp_path: Path) -> None:
    old = {name: value for name, value in row().items() if name not in ("seat", "play", "turns")}
    (group,) = read(tmp_path / "run", old)
    assert "turns" not in group["rows"][0] and group["group"] == "0:1"
    assert write_report(tmp_path / "run").exists()


def test_a_walk_is_a_table_of_its_first_steps(tmp_path: Path) -> None:
    steps = MAX_WALK + 5
    walk = row(seen=[[0.123456, 1.0]] * steps, tokens=[1] * steps, earned=[0.5] * steps, turns=None, play=None)
    (group,) = read(tmp_path / "run", walk)
    (shown,) = group["rows"]
    assert shown["walk"] == [[[0.123, 1.0], [1.0], 0.5]] * MAX_WALK and shown["length"] == steps
    assert shown["return"] == pytest.approx(0.5 * steps, rel=1e-2)


# Exams


EXAM: dict[str, Any] = {
    "set": "test",
    "step": 0,
    "problems": 2,
    "samples": 1,
    "invalid": 1,
    "pass": {"1": {"mean": 0.5, "low": 0.0, "high": 1.0}},
    "plays": {"answers": 2, "faults": 1, "turns": 3.0, "replies": 2.0, "failed": 0.25},
}


def test_an_exam_is_told_in_a_sentence_and_as_rows() -> None:
    assert play_lines(EXAM) == [
        "an answer has 3.00 turns and 2.00 replies; 25.0% of the replies tell of an error",
        "the world failed in 1 answer, which counts for nothing",
    ]
    later = EXAM | {"plays": EXAM["plays"] | {"turns": 4.5}}
    assert play_rows(EXAM, later)[0] == ("mean turns", "3.00", "4.50")
    assert play_rows(EXAM, None)[2] == ("failed replies", "25.0%", "")
    assert metrics_of_plays(EXAM) == {
        "eval/test/plays/faults": 1,
        "eval/test/plays/turns": 3,
        "eval/test/plays/replies": 2,
        "eval/test/plays/failed": 0.25,
    }


def test_where_nobody_replied_nothing_is_told() -> None:
    silent = {name: value for name, value in EXAM.items() if name != "plays"}
    assert play_lines(silent) == [] and play_rows(silent, silent) == [] and metrics_of_plays(silent) == {}


@pytest.mark.parametrize("plays", [7, "x", [1], {"turns": "3"}, {"turns": float("nan")}, None])
def test_a_folder_may_say_anything(plays: object) -> None:
    assert plays_of({"plays": plays}) == {} and play_lines({"plays": plays}) == []


def test_the_report_has_rows_and_a_chart_of_replies() -> None:
    (result,) = results([EXAM], {})
    assert result["plays"] == play_rows(EXAM, None)
    drawn = curves([{"step": 1, "replies/mean": 2.0, "replies/failed": 0.5, "world/faults": 0.0}], {})
    assert {"Replies", "Failed replies"} <= {chart["title"] for chart in drawn["charts"]}


# Faults


@pytest.mark.parametrize(
    ("metrics", "evals", "says"),
    [
        ([{"reward/verifier_failed": 3, "world/faults": 3}], [], ["The world failed in 3 answers"]),
        (
            [{"reward/verifier_failed": 3, "world/faults": 1}],
            [],
            ["The verifier failed on 2 answers", "The world failed in 1 answers"],
        ),
        ([{"world/faults": 0}], [{"invalid": 2, "plays": {"faults": 2}}], ["because the world failed on them"]),
        ([{}], [{"invalid": 2, "plays": {"faults": 1}}], ["because the verifier or the world failed"]),
        ([{"world/faults": 0}], [], []),
    ],
)
def test_a_fault_of_the_world_is_not_blamed_on_a_verifier(
    metrics: list[dict[str, float]], evals: list[dict[str, Any]], says: list[str]
) -> None:
    raised = [alarm["text"] for alarm in alarms(metrics, evals, total_steps=len(metrics))]
    assert len(raised) == len(says)
    assert all(word in text for word, text in zip(says, raised, strict=True))
