"""SIGKILL at any moment, then resume: the run ends bit for bit where the uninterrupted run ends."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_runs import ROOT

from assay.host.failpoint import FAILPOINTS

DRIVER = ROOT / "tests" / "crashes.py"
Turn = Callable[[Sequence[Any], int], list[Any]]
SAVE_POINTS = [name for name in FAILPOINTS if name.split(".")[0] in {"checkpoint", "retention", "best"}]
# no answer of this run is ever right, so the first held-out score stays the best; checkpoints are written five times
VISITS = {"checkpoint": 3, "retention": 1, "best": 1, "loop": 2}


def kills(folder: Path, scenarios: Sequence[dict]) -> Iterator[dict]:
    """Results of the driver, the calm run first."""
    text = "".join(json.dumps(scenario) + "\n" for scenario in scenarios)
    done = subprocess.run(
        [sys.executable, str(DRIVER), str(folder)], input=text, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(results) == len(scenarios) + 1, done.stderr[-3000:]
    yield from results


def require_equal(results: Sequence[dict]) -> None:
    calm = results[0]["digest"]
    assert calm is not None
    for result in results[1:]:
        assert result["resumed"], result
        assert result["digest"] == calm, f"{result['name']}: the resumed run is another run"


@pytest.mark.turns(3)
@pytest.mark.slow
def test_a_kill_in_every_phase_changes_nothing(tmp_path: Path, turn: Turn) -> None:
    """Two of five random moments and one in each phase; the guard says that each phase was really hit."""
    shares = turn(list(np.random.default_rng(5).uniform(0.05, 0.95, size=5)), 2)
    scenarios = [{"name": f"moment-{i}", "after": float(share)} for i, share in enumerate(shares)]
    phases = ("collect", "verify", "update", "save")
    scenarios += [{"name": f"in-{phase}", "inside": phase, "nth": 4} for phase in phases]
    results = list(kills(tmp_path, scenarios))
    require_equal(results)
    hits = Counter(result["hit"] for result in results if result["killed"])
    assert all(hits[phase] >= 1 for phase in phases), hits


@pytest.mark.turns(3)
@pytest.mark.slow
def test_a_kill_at_every_point_of_a_save_changes_nothing(tmp_path: Path, turn: Turn) -> None:
    """At eight of them, which take turns."""
    loop = ("loop.collect", "loop.verify", "loop.update", "loop.save", "loop.record")
    scenarios = [
        {"name": name, "failpoint": f"{name}:kill:{VISITS[name.split('.')[0]]}"}
        for name in turn((*SAVE_POINTS, *loop), 8)
    ]
    results = list(kills(tmp_path, scenarios))
    require_equal(results)
    missed = [result["name"] for result in results[1:] if not result["killed"]]
    assert not missed, f"the run never came by {missed}"


FEW = ["checkpoint.before_write", "checkpoint.before_rename", "checkpoint.after_rename", "retention.after_rename"]


@pytest.mark.turns(3)
@pytest.mark.parametrize(
    ("moments", "points"),
    [pytest.param(2, FEW, marks=pytest.mark.slow), pytest.param(40, SAVE_POINTS, marks=pytest.mark.deep)],
)
def test_a_kill_while_a_checkpoint_is_written_beside_training_changes_nothing(
    tmp_path: Path, moments: int, points: Sequence[str]
) -> None:
    """At points of a save, and at random moments, of which many find one under way."""
    shares = np.random.default_rng(6).uniform(0.05, 0.95, size=moments)
    scenarios = [{"name": f"moment-{i}", "after": float(share), "beside": True} for i, share in enumerate(shares)]
    for name in points:
        armed = f"{name}:kill:{VISITS[name.split('.')[0]]}"
        scenarios.append({"name": name, "failpoint": armed, "beside": True})
    results = list(kills(tmp_path, scenarios))
    require_equal(results)
    missed = [result["name"] for result in results[1 + moments :] if not result["killed"]]
    assert not missed, f"the run never came by {missed}"
    found = [result["writing"] and result["hit"] != "save" for result in results[1:]]
    assert any(found), "no kill came while a thread was writing"


@pytest.mark.deep
def test_a_hundred_random_kills(tmp_path: Path) -> None:
    shares = np.random.default_rng(100).uniform(0.02, 0.98, size=100)
    results = list(kills(tmp_path, [{"name": f"moment-{i}", "after": float(s)} for i, s in enumerate(shares)]))
    require_equal(results)
    hits = Counter(result["hit"] for result in results if result["killed"])
    assert sum(hits.values()) >= 90, hits
    assert all(hits[phase] >= 3 for phase in ("collect", "verify", "update", "save")), hits
