"""The bench of the verifier: what it reads, what it counts, what it tells of a file that is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench import verifier

ROWS = [
    {"gold": "1/2", "answer": r"\boxed{0.5}", "right": True},
    {"gold": "1/2", "answer": "0.6", "right": False},
    {"gold": "3", "answer": "3 or so", "right": True},
    {"gold": "2,1", "answer": "1,2", "right": False},
    {"gold": "1/3", "answer": "0.33", "right": True, "apart": "decimals"},
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "open").mkdir()
    (tmp_path / "open" / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    (tmp_path / "other.jsonl").write_text(json.dumps(ROWS[0]) + "\n")
    return tmp_path


@pytest.fixture(autouse=True)
def _library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Math-Verify takes seconds to load and is theirs to test."""
    monkeypatch.setattr(verifier, "theirs", lambda pairs: [False] * len(pairs))


def test_refused_and_accepted_are_counted_by_suite(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of three right answers one is apart and one refused; of two wrong ones one is accepted."""
    assert verifier.main([str(folder), "--json", "--show", "--wrong", "20"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert found["suites"] == {
        "open/mine": {
            "right": 2,
            "wrong": 2,
            "ours": {"refused": 1, "accepted": 1},
            "math_verify": {"refused": 2, "accepted": 0},
            "apart": {"decimals": 1},
        },
        "other": {
            "right": 1,
            "wrong": 0,
            "ours": {"refused": 0, "accepted": 0},
            "math_verify": {"refused": 1, "accepted": 0},
            "apart": {},
        },
    }
    assert found["made"] == {"pairs": 20, "seed": verifier.SEED, "accepted": 0, "math_verify": 0}
    assert [line.split(":")[1] for line in found["disagreements"]] == [" refused", " accepted", " refused"]


def test_the_table_adds_up(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verifier.main([str(folder), "--wrong", "10"]) == 0
    said = capsys.readouterr().out
    assert "| open/mine | 2 | 1 | 2 | 2 | 1 | 0 | decimals 1 |" in said
    assert "| **all** | 3 | 1 | 3 | 2 | 1 | 0 | decimals 1 |" in said
    assert "Measured " in said and " cores of " in said
    assert verifier.APART["decimals"] in said and "of 10 wrong answers" in said


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "bad.jsonl, line 2: no JSON"),
        ('{"gold": "1", "answer": "1"}', "bad.jsonl, line 2: expected"),
        ('{"gold": "1", "answer": 1, "right": true}', "bad.jsonl, line 2: expected"),
        ('{"gold": "1", "answer": "1", "right": true, "apart": "taste"}', "'taste' is no reason"),
    ],
)
def test_a_line_that_is_wrong_is_named(
    line: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.jsonl").write_text(f"{json.dumps(ROWS[0])}\n{line}\n")
    assert verifier.main([str(tmp_path)]) == 64
    assert message in capsys.readouterr().err


def test_a_folder_without_suites_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verifier.main([str(tmp_path)]) == 64
    assert "has no file NAME.jsonl" in capsys.readouterr().err


def test_what_was_kept_is_a_section_of_the_results(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from bench import rendering

    rendered: list[bool] = []
    monkeypatch.setattr(verifier, "KEPT", folder / "verifier.json")
    monkeypatch.setattr(rendering, "render", lambda: rendered.append(True))
    assert verifier.section(folder) == ""
    assert verifier.main([str(folder), "--keep", "--wrong", "5"]) == 0
    assert rendered == [True]
    assert verifier.section(folder) in capsys.readouterr().out
