"""The Python of programs: that of this process, or a copy of it that every user can read and root alone can change."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from open_folders import open_folder

from assay.sandbox import interpreter
from assay.sandbox.inside import confine
from assay.sandbox.interpreter import own, readable

LIBRARY = "lib/python3.99"


@pytest.fixture
def place() -> Iterator[Path]:
    with open_folder() as folder:
        yield folder


@pytest.fixture
def closed(place: Path) -> Path:
    """What looks like a Python in a folder that others cannot enter."""
    home = place / "home"
    for name in ("bin/python3.99", f"{LIBRARY}/os.py", f"{LIBRARY}/json/decoder.py", "lib/libpython3.99.so.1.0"):
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
        path.chmod(0o755 if name.startswith("bin") else 0o644)
        os.utime(path, (1, 1))
    (home / "lib/libpython3.99.so").symlink_to("libpython3.99.so.1.0")
    (home / LIBRARY / "site-packages" / "secret").mkdir(parents=True)
    (home / LIBRARY / "site-packages" / "secret" / "key.py").write_text("secret")
    home.chmod(0o700)
    return home


def copied(closed: Path, copies: Path) -> Path:
    return readable(closed / "bin/python3.99", closed / LIBRARY, place=copies)


def test_a_python_that_every_user_can_read_is_taken_itself(closed: Path, place: Path) -> None:
    closed.chmod(0o755)
    assert copied(closed, place / "copies") == closed / "bin/python3.99"
    assert not (place / "copies").exists()


def test_one_in_a_closed_folder_is_copied_with_its_library_and_nothing_that_was_installed(
    closed: Path, place: Path
) -> None:
    python = copied(closed, place / "copies")
    home = python.parents[1]
    assert home.is_relative_to(place / "copies") and python.read_text() == "bin/python3.99"
    files = {str(path.relative_to(home)) for path in home.rglob("*") if not path.is_dir()}
    assert files == {
        "bin/python3.99", f"{LIBRARY}/os.py", f"{LIBRARY}/json/decoder.py", "lib/libpython3.99.so.1.0",
        "lib/libpython3.99.so",
    }  # fmt: skip
    for path in (home.parent, home, *home.rglob("*")):
        assert path.stat().st_mode & 0o004 and not path.stat().st_mode & 0o022, path
        assert not path.is_dir() or path.stat().st_mode & 0o001
    assert (home / LIBRARY / "os.py").stat().st_mtime == 1, "compiled modules name the times of their sources"
    assert [path.name for path in home.parent.iterdir()] == [home.name], "nothing unfinished is left"


def test_a_copy_is_made_once_and_anew_when_a_file_changes(closed: Path, place: Path) -> None:
    first = copied(closed, place / "copies")
    made = first.parents[1].stat().st_ctime_ns
    readable.cache_clear()
    assert copied(closed, place / "copies") == first and first.parents[1].stat().st_ctime_ns == made
    readable.cache_clear()
    (closed / LIBRARY / "os.py").unlink()
    (closed / LIBRARY / "os.py").write_text("another os.py")
    second = copied(closed, place / "copies")
    assert second != first and (second.parents[1] / LIBRARY / "os.py").read_text() == "another os.py"
    assert (first.parents[1] / LIBRARY / "os.py").read_text() == f"{LIBRARY}/os.py"


def test_a_copy_that_others_can_change_is_no_interpreter(closed: Path, place: Path) -> None:
    home = copied(closed, place / "copies").parents[1]
    readable.cache_clear()
    home.chmod(0o777)
    with pytest.raises(OSError, match=r"can be changed by others.*chmod o\+x .*home"):
        copied(closed, place / "copies")


def test_a_place_that_is_closed_too_is_said_with_what_to_do(closed: Path, place: Path) -> None:
    (place / "shut").mkdir(mode=0o700)
    with pytest.raises(OSError, match=r"no copy can be made: .*shut is closed to other users\. Install Python where"):
        copied(closed, place / "shut" / "copies")


def test_a_copy_that_cannot_be_finished_leaves_nothing(
    closed: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: Path, place: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(interpreter, "_put", full)
    with pytest.raises(OSError, match="No space left"):
        copied(closed, place / "copies")
    assert list((place / "copies").iterdir()) == []


@pytest.mark.slow
def test_the_copy_of_this_python_is_this_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own prefix, version and library, with an extension module that is loaded from a file."""
    monkeypatch.setattr(interpreter, "_open", lambda path: False)
    monkeypatch.setattr(interpreter, "_trusted", lambda copy: None)
    python = readable(own(), Path(confine.standard_library()), place=tmp_path)
    looks = "import json, sys, os, _json, mmap; print(json.dumps([sys.version, sys.base_prefix, os.__file__]))"
    version, prefix, library = json.loads(
        subprocess.run([str(python), "-S", "-I", "-c", looks], capture_output=True, check=True, cwd="/").stdout
    )
    assert version == sys.version and prefix == str(python.parents[1])
    assert Path(library).is_relative_to(python.parents[1])
