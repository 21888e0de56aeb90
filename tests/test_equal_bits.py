"""The comparison of two trees notices a formula that changed, and a tree equals itself."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def keep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the model is, and what this tree computed, once for all tests."""
    return tmp_path_factory.mktemp("keep")


def compare(keep: Path, old: Path, new: Path, *more: str) -> tuple[int, dict[str, Any]]:
    """Exit code and document of `python -m bench.equal_bits OLD NEW` for two recipes on the torch engine."""
    few = ("--recipes", "grpo,rloo", "--engines", "torch", "--processes", "1", "--keep", str(keep), "--json", *more)
    command = [sys.executable, "-m", "bench.equal_bits", str(old), str(new), *few]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, json.loads(done.stdout)


def copy_with(folder: Path, path: str, before: str, after: str) -> Path:
    """A copy of this tree in which one line says something else."""
    shutil.copytree(ROOT / "assay", folder / "assay")
    place = folder / path
    text = place.read_text()
    assert text.count(before) == 1
    place.write_text(text.replace(before, after))
    return folder


@pytest.mark.turns(3)
@pytest.mark.deep
def test_a_tree_equals_itself_and_a_changed_constant_of_one_recipe_is_named(keep: Path, tmp_path: Path) -> None:
    code, same = compare(keep, ROOT, ROOT)
    assert code == 0 and {(one["recipe"], one["came"]) for one in same["comparisons"]} == {
        ("grpo", "equal"),
        ("rloo", "equal"),
    }
    assert all(one["arrays"] > 20 and one["unlike"] == [] for one in same["comparisons"])

    changed = copy_with(tmp_path / "changed", "assay/methods/baselines/grpo.py", "weight=0.04", "weight=0.05")
    code, found = compare(keep, ROOT, changed)
    came = {(one["recipe"], one["kind"]): one for one in found["comparisons"]}
    assert code == 1
    assert {name for (name, _), one in came.items() if one["came"] == "differs"} == {"grpo"}
    rows = came["grpo", "fixed"]["unlike"]
    assert any("/loss " in name for name in rows) and any("/gradient " in name for name in rows)
    assert not any("/batch " in name and name.endswith("/advantage") and "step 0" in name for name in rows)


@pytest.mark.turns(3)
@pytest.mark.slow
def test_a_recipe_that_went_away_or_never_was_is_named(keep: Path, tmp_path: Path) -> None:
    gone = copy_with(tmp_path / "gone", "assay/methods/baselines/dr_grpo.py", 'name="dr-grpo"', 'name="dr-grpo-2"')
    code, found = compare(keep, ROOT, gone, "--only", "fixed", "--recipes", "dr-grpo,dr-grpo-2,nobody")
    assert code == 1
    assert {one["recipe"]: one["came"] for one in found["comparisons"]} == {
        "dr-grpo": "lost",
        "dr-grpo-2": "added",
        "nobody": "nowhere",
    }
