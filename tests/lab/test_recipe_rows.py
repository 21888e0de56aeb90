"""The kept rows of `assay list recipes`: those of other files, or damaged ones, are never shown."""

from __future__ import annotations

import json
import os
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from assay.known import GROUPS, OTHER_PACKAGES
from assay.lab import recipe_rows as kept
from assay.lab.catalogue import listing
from assay.lab.list_text import HEADINGS

FALSE = [{"name": "no-such-recipe", "group": "gates", "summary": "of a file that was changed"}]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A process that has not imported the registry, and a package of two files."""
    folder = tmp_path / "assay"
    (folder / "methods" / "__pycache__").mkdir(parents=True)
    (folder / "methods" / "mine.py").write_text("1")
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(kept, "PACKAGE", folder)
    monkeypatch.setattr(kept, "installed", tuple)
    monkeypatch.delitem(sys.modules, "assay.known")
    return folder


def put(rows: object) -> None:
    """Keeps these rows as those of the package's files, as they are now."""
    kept.kept_at().parent.mkdir(parents=True, exist_ok=True)
    kept.kept_at().write_text(json.dumps({"files": kept.state_of(kept.PACKAGE), "rows": rows}))


def test_rows_are_kept_as_they_are_made(package: Path) -> None:
    made = kept.recipe_rows()
    assert made == listing("recipes")
    assert kept.recipe_rows() == json.loads(kept.kept_at().read_text())["rows"] == made


def test_rows_of_the_same_files_are_shown(package: Path) -> None:
    put(FALSE)
    assert kept.recipe_rows() == FALSE


@pytest.mark.parametrize("change", ["larger", "younger", "another", "removed"])
def test_rows_of_other_files_are_made_anew(package: Path, change: str) -> None:
    put(FALSE)
    mine = package / "methods" / "mine.py"
    match change:
        case "larger":
            when = mine.stat().st_mtime_ns
            mine.write_text("12")
            os.utime(mine, ns=(when, when))
        case "younger":
            os.utime(mine, ns=(0, mine.stat().st_mtime_ns + 1))
        case "another":
            (package / "methods" / "theirs.py").touch()
        case _:
            mine.unlink()
    assert kept.recipe_rows() == listing("recipes")


def test_bytecode_is_no_change(package: Path) -> None:
    put(FALSE)
    (package / "methods" / "__pycache__" / "mine.cpython-311.pyc").touch()
    assert kept.recipe_rows() == FALSE


def test_a_link_that_leads_nowhere_is_a_file_like_others(package: Path) -> None:
    (package / "methods" / ".#mine.py").symlink_to("somebody@somewhere.1")
    put(FALSE)
    assert kept.recipe_rows() == FALSE


def test_what_a_link_leads_to_is_looked_at(package: Path, tmp_path: Path) -> None:
    linked = tmp_path / "elsewhere.py"
    linked.write_text("1")
    (package / "methods" / "linked.py").symlink_to(linked)
    put(FALSE)
    linked.write_text("12")
    assert kept.recipe_rows() == listing("recipes")


def test_each_copy_of_the_package_has_rows_of_its_own(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(FALSE)
    first = kept.kept_at()
    monkeypatch.setattr(kept, "PACKAGE", package.parent / "other")
    assert kept.kept_at() != first


def test_where_other_packages_offer_something_nothing_is_kept(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(FALSE)
    monkeypatch.setattr(kept, "installed", lambda: (EntryPoint("mine", "their.module", "assay.methods"),))
    assert kept.recipe_rows() == listing("recipes")


def test_a_process_that_has_the_registry_shows_what_it_has(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(FALSE)
    monkeypatch.setitem(sys.modules, "assay.known", kept)
    assert kept.recipe_rows() == listing("recipes")


@pytest.mark.parametrize("damage", ["", "[]", "{", '{"files": "others", "rows": []}', "\0"])
def test_what_is_damaged_is_made_anew(package: Path, damage: str) -> None:
    put(FALSE)
    kept.kept_at().write_text(damage)
    assert kept.recipe_rows() == listing("recipes") == json.loads(kept.kept_at().read_text())["rows"]


def test_where_nothing_can_be_kept_the_rows_are_shown_all_the_same(package: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    assert kept.recipe_rows() == listing("recipes")


def test_a_write_that_fails_leaves_no_file(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, target: Path) -> Path:
        raise OSError(28, "no space left on device")

    monkeypatch.setattr(Path, "replace", full)
    assert kept.recipe_rows() == listing("recipes")
    assert list(kept.kept_at().parent.iterdir()) == []


def test_every_group_has_a_heading() -> None:
    assert list(HEADINGS) == [*GROUPS, OTHER_PACKAGES]
