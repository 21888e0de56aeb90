"""The bench of waiting: what it compares, and what its table says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.collect import AtEnd, AtOnce
from assay.run.grader import Grader
from assay.source import Pool, Share
from bench import waiting

POOL = Pool((Share("programs", (2,)),))


def test_the_two_ways_are_ahead_and_at_the_end() -> None:
    with waiting.judged(ahead=True):
        assert isinstance(Grader().verdicts(POOL), AtOnce)
    with waiting.judged(ahead=False):
        assert isinstance(Grader().verdicts(POOL), AtEnd)
    assert isinstance(Grader().verdicts(POOL), AtOnce), "what was changed is put back"


def test_both_ways_are_measured_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []

    def steps(task: str, ahead: bool) -> dict[str, float]:
        asked.append(ahead)
        return {"step": 1.0, "collect": 0.5, "wait": 0.25, "share": 0.25}

    monkeypatch.setattr(waiting, "steps", steps)
    found = waiting.measure("sql", 3)
    assert asked == [True, False, False, True, True, False] and {way: len(runs) for way, runs in found.items()} == {
        "ahead": 3,
        "end": 3,
    }


def test_the_section_has_a_row_for_each_task(tmp_path: Path) -> None:
    assert waiting.section(tmp_path) == ""
    about = {"processor": "Some CPU", "cores": 2, "flags": ["avx2"], "memory_gib": 4}
    ways = {
        "ahead": [{"step": 2.0, "share": 0.1}, {"step": 4.0, "share": 0.3}],
        "end": [{"step": 3.0, "share": 0.5}] * 2,
    }
    kept = {"machine": about, "measured": "2026-01-02", "others": 0, "rounds": 2, "seconds": {"sql": ways}}
    (tmp_path / "waiting--some-cpu-123456--2026-01-02.json").write_text(json.dumps(kept))
    row = "| `sql` | 3.000 [2.000, 4.000] | 3.000 [3.000, 3.000] | 0.200 [0.100, 0.300] | 0.500 [0.500, 0.500] |"
    assert waiting.section(tmp_path).splitlines()[-1] == row
