"""What `make check` asks pyright about: all that a change may have made wrong, and nothing that stands as it passed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import type_check

TREE = {
    "assay/__init__.py": "",
    "assay/low.py": "X = 1\n",
    "assay/room/__init__.py": "from assay.room.inner import Y\n",
    "assay/room/inner.py": "from .. import low\nY = low.X\n",
    "assay/room/alone.py": "import json\n",
    "bench/measure.py": "from assay.room import Y\n",
    "tests/deep/helper.py": "Z = 3\n",
    "tests/test_a.py": "def test() -> None:\n    from helper import Z\n\n    assert Z\n",
    "tests/test_b.py": "import bench.measure as measure\n",
}

ON_LOW = {"assay/room/inner.py", "assay/room/__init__.py", "bench/measure.py", "tests/test_b.py"}  # directly, or not


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The tree in a folder, and what pyright is asked about, call by call; it says 1 where a file says so."""
    calls: list[list[str]] = []

    def pyright(paths: Sequence[str]) -> int:
        calls.append(list(paths))
        return int(any("# wrong" in path.read_text() for path in type_check.files(tmp_path)))

    for name, value in (("ROOT", tmp_path), ("PASSED", tmp_path / "build" / "types.json"), ("pyright", pyright)):
        monkeypatch.setattr(type_check, name, value)
    monkeypatch.setattr(sys, "argv", ["type_check.py"])
    for name, text in TREE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "pyproject.toml").write_text("[tool.pyright]\n")
    return calls


def edit(name: str, text: str) -> None:
    with (type_check.ROOT / name).open("a") as file:
        file.write(text)


def test_everything_is_asked_once_and_nothing_again(asked: list[list[str]]) -> None:
    assert (type_check.main(), type_check.main()) == (0, 0)
    assert asked == [[]], "the settings name the files, and the second time there is nothing to ask"


@pytest.mark.parametrize(
    ("changed", "wanted"),
    [
        ("assay/room/alone.py", {"assay/room/alone.py"}),
        (
            "assay/room/inner.py",
            {"assay/room/inner.py", "assay/room/__init__.py", "bench/measure.py", "tests/test_b.py"},
        ),
        ("tests/deep/helper.py", {"tests/deep/helper.py", "tests/test_a.py"}),
        (
            "assay/__init__.py",
            {*TREE} - {"assay/room/alone.py", "tests/deep/helper.py", "tests/test_a.py"} - {"assay/low.py"},
        ),
    ],
)
def test_a_change_asks_about_its_file_and_all_that_import_it(
    asked: list[list[str]], changed: str, wanted: set[str]
) -> None:
    type_check.main()
    edit(changed, "\n")
    assert type_check.main() == 0
    assert set(asked[-1]) == wanted


def test_what_came_and_what_went_ask_about_those_that_name_it(asked: list[list[str]]) -> None:
    type_check.main()
    (type_check.ROOT / "assay/low.py").unlink()
    type_check.main()
    assert set(asked[-1]) == ON_LOW
    (type_check.ROOT / "assay/low.py").write_text("X = 2\n")
    type_check.main()
    assert set(asked[-1]) == {"assay/low.py", *ON_LOW}


def test_what_is_wrong_is_asked_until_it_is_right(asked: list[list[str]]) -> None:
    type_check.main()
    edit("assay/room/alone.py", "# wrong\n")
    assert (type_check.main(), type_check.main()) == (1, 1)
    assert asked[1] == asked[2] == ["assay/room/alone.py"]
    (type_check.ROOT / "assay/room/alone.py").write_text(TREE["assay/room/alone.py"])
    assert type_check.main() == 0 and len(asked) == 3, "as it was when it passed"


def test_other_settings_ask_everything(asked: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    type_check.main()
    (type_check.ROOT / "pyproject.toml").write_text('[tool.pyright]\ntypeCheckingMode = "strict"\n')
    type_check.main()
    monkeypatch.setattr(sys, "argv", ["type_check.py", "--all"])
    type_check.main()
    assert asked == [[], [], []]
