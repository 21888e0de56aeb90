"""What a task of Assay costs: the files and the line that docs/task.md names, and no other change."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from small_runs import ROOT

PAGE = (ROOT / "docs" / "task.md").read_text()
CODE = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[0]
TESTS = dict(re.findall(r"^```python ([\w/.]+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
LINES = re.findall(r"^```text\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
FILE = "assay/tasks/digits.py"
COPIED = ("assay", "tests", "docs", "bench", "pyproject.toml", "README.md")


def copied(tree: Path) -> None:
    """Copies the repository."""
    for name in COPIED:
        place = ROOT / name
        ignored = shutil.ignore_patterns("built", "runs", "__pycache__")
        shutil.copytree(place, tree / name, ignore=ignored) if place.is_dir() else shutil.copy2(place, tree / name)


def written(tree: Path) -> None:
    """Follows the page in a copy of the repository."""
    copied(tree)
    (tree / FILE).write_text(CODE)
    for path, text in TESTS.items():
        (tree / path).write_text(text)
    table = tree / "assay/tasks/__init__.py"
    table.write_text(table.read_text().replace("    }\n)\n", f"{LINES[0]}    }}\n)\n", 1))


def asked(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(tree), "OMP_NUM_THREADS": "1", "ASSAY_CACHE": str(tree / "cache")}
    line = [sys.executable, "-m", *arguments]
    return subprocess.run(line, cwd=tree, env=environment, capture_output=True, text=True, check=False)


def test_the_page_names_one_file_one_of_tests_and_one_line() -> None:
    assert f"is `{FILE}`" in PAGE and list(TESTS) == ["tests/tasks/test_digits.py"]
    assert [block.count("\n") for block in LINES] == [1]
    assert len(CODE.splitlines()) < 55


@pytest.mark.slow
def test_a_task_that_follows_the_page_passes_the_suites_over_all_tasks(tmp_path: Path) -> None:
    written(tmp_path)
    suites = ("tests/tasks/test_digits.py", "tests/tasks/test_tasks.py", "tests/run/test_bases.py")
    chosen = "digits or stand_under or say_which or of_one_task"
    tests = asked(tmp_path, "pytest", "-q", "-p", "no:cacheprovider", *suites, "-k", chosen)
    passed = re.search(r"(\d+) passed", tests.stdout)
    assert tests.returncode == 0 and passed is not None and int(passed[1]) > 15, tests.stdout[-3000:]
    shown = asked(tmp_path, "assay", "show", "digits")
    assert shown.returncode == 0 and "made at level 4" in shown.stdout, shown.stderr
    assert asked(tmp_path, "assay.lab.pages", "docs/tasks.md").returncode == 0
    assert "| `digits` | the sum of digits;" in (tmp_path / "docs/tasks.md").read_text()
