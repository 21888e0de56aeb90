"""What a task with a tool costs: two files and a line, which docs/world.md names, and no other change."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from small_runs import ROOT
from test_task_price import asked, copied

PAGE = (ROOT / "docs" / "world.md").read_text()
CODE = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[0]
TESTS = dict(re.findall(r"^```python ([\w/.]+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
LINES = re.findall(r"^```text\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
FILE = "assay/tasks/safe.py"
TEMPLATE = ROOT / "assay" / "lab" / "templates" / "world" / "my_world" / "__init__.py"


def test_the_page_names_one_file_one_of_tests_and_one_line() -> None:
    assert f"is `{FILE}`" in PAGE and list(TESTS) == ["tests/tasks/test_safe.py"]
    assert [block.count("\n") for block in LINES] == [1]
    assert len(CODE.splitlines()) < 60


def test_a_world_with_state_a_tool_rewards_by_turn_and_two_seats_takes_at_most_110_lines() -> None:
    text = TEMPLATE.read_text()
    assert len(text.splitlines()) <= 110
    assert text.count("Seat(") == 2 and "rewards=" in text and "takes_text(" in text and "def save" in text


@pytest.mark.slow
def test_a_task_with_a_tool_that_follows_the_page_passes_the_suites_over_all_tasks(tmp_path: Path) -> None:
    copied(tmp_path)
    (tmp_path / FILE).write_text(CODE)
    for path, text in TESTS.items():
        (tmp_path / path).write_text(text)
    table = tmp_path / "assay/tasks/__init__.py"
    table.write_text(table.read_text().replace("    }\n)\n", f"{LINES[0]}    }}\n)\n", 1))
    suites = ("tests/tasks/test_safe.py", "tests/tasks/test_tasks.py", "tests/worlds/test_world_contract.py")
    tests = asked(tmp_path, "pytest", "-q", "-p", "no:cacheprovider", *suites, "-k", "safe or stand_under or say_which")
    passed = re.search(r"(\d+) passed", tests.stdout)
    assert tests.returncode == 0 and passed is not None and int(passed[1]) > 8, tests.stdout[-3000:]
