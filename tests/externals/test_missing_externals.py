"""Tests of a missing external are skipped and counted, and fail where the external must be there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from small_runs import ROOT, program

CONFTEST = """
import dataclasses
import missing_externals
from missing_externals import EXTERNALS, MissingExternals
one = EXTERNALS["sqlite"]
EXTERNALS["absent"] = dataclasses.replace(one, name="absent", install="apt-get install absent", version=lambda: None)
EXTERNALS["present"] = dataclasses.replace(one, name="present", version=lambda: "1.0")
EXTERNALS["broken"] = dataclasses.replace(one, name="broken", fails=one.passes)
missing_externals.LIST = missing_externals.Path(__file__).with_name("list.txt")
def pytest_configure(config):
    config.addinivalue_line("markers", "external(name): needs it")
    config.pluginmanager.register(MissingExternals())
"""
TESTS = """
import pytest
@pytest.mark.external("absent")
@pytest.mark.parametrize("case", range(3))
def test_one(case): assert False, "never runs"
@pytest.mark.external("present", "absent")
def test_two(): assert False, "never runs"
@pytest.mark.external("present")
def test_three(): pass
@pytest.mark.external("broken")
def test_four(): assert False, "never runs"
"""


def log_of(folder: Path, way: str, *, must: str = "", more: tuple[str, ...] = ()) -> str:
    for name, text in (("conftest.py", CONFTEST), ("test_it.py", TESTS), ("list.txt", f"# said so\n{must}\n")):
        (folder / name).write_text(text)
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    line = ["-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={folder}", *more, str(folder)]
    return program(line, PYTHONPATH=path, ASSAY_EXTERNALS=way).stdout


@pytest.mark.slow
@pytest.mark.parametrize("more", [(), ("-n", "2")], ids=["one process", "workers"])
def test_the_log_says_what_was_skipped(tmp_path: Path, more: tuple[str, ...]) -> None:
    log = log_of(tmp_path, "", more=more)
    assert "1 passed, 5 skipped" in log
    assert "absent: 4 tests skipped, missing. To run them: apt-get install absent" in log
    assert "broken: 1 test skipped, its self-test fails: the case that must fail was accepted" in log
    assert "present:" not in log


@pytest.mark.slow
def test_what_must_be_there_fails(tmp_path: Path) -> None:
    assert "1 passed, 5 skipped" in log_of(tmp_path, "listed", must="present")
    log = log_of(tmp_path, "listed", must="absent  # shown by CI")
    assert "1 passed, 1 skipped, 4 errors" in log and "absent (missing): apt-get install absent" in log
    assert "1 passed, 4 skipped, 1 error" in log_of(tmp_path, "listed", must="broken")
    assert "1 passed, 5 errors" in log_of(tmp_path, "all")
    assert "expected 'listed', 'all' or nothing" in log_of(tmp_path, "some")
