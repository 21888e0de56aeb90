"""Tests of a foreign program, `@pytest.mark.external("coq")`: left out by name where it is missing, and counted.

Three ways, by the variable ASSAY_EXTERNALS: unset, a test of a missing external is skipped; `listed`, as `.ci/run` sets
it, those of `ci_externals.txt` must be there; `all`, as `make test-deep` sets it, every one must be there.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Generator
from functools import lru_cache
from pathlib import Path

import pytest

from assay.externals import EXTERNALS

VARIABLE = "ASSAY_EXTERNALS"
LIST = Path(__file__).with_name("ci_externals.txt")
MISSING = "missing_externals"


def listed() -> list[str]:
    """The externals that CI has shown it can have."""
    lines = [line.split("#")[0].strip() for line in LIST.read_text().splitlines()]
    return [line for line in lines if line]


def must_be_there(name: str) -> bool:
    way = os.environ.get(VARIABLE, "")
    if way not in ("", "listed", "all"):
        raise pytest.UsageError(f"{VARIABLE} is '{way}': expected 'listed', 'all' or nothing.")
    return way == "all" or (way == "listed" and name in listed())


@lru_cache
def missing(name: str) -> bool:
    if name not in EXTERNALS:
        raise pytest.UsageError(f"a test is marked with the external '{name}'; there are {', '.join(EXTERNALS)}.")
    return EXTERNALS[name].version() is None


def missing_of(item: pytest.Item) -> list[str]:
    """The missing externals of a test, in the order of its marks."""
    named = [name for mark in item.iter_markers("external") for name in mark.args]
    return [name for name in dict.fromkeys(named) if missing(name)]


class MissingExternals:
    """Skips or fails the tests of missing externals in each worker, adds up in the process that starts them."""

    def __init__(self) -> None:
        self.skipped: dict[str, int] = defaultdict(int)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        found = missing_of(item)
        if wanted := [name for name in found if must_be_there(name)]:
            lines = "; ".join(f"{name}: {EXTERNALS[name].install}" for name in wanted)
            pytest.fail(f"externals that must be there are missing ({VARIABLE}={os.environ[VARIABLE]}). {lines}", False)
        if found:
            pytest.skip(f"missing: {', '.join(found)}")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if report.when == "setup" and report.skipped:
            setattr(report, MISSING, missing_of(item))  # what a worker sends holds every attribute
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name in getattr(report, MISSING, ()):
            self.skipped[name] += 1

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self.skipped:
            return
        terminalreporter.section("externals that are missing")
        for name, count in sorted(self.skipped.items()):
            tests = "1 test" if count == 1 else f"{count} tests"
            terminalreporter.line(f"{name}: {tests} skipped. To run them: {EXTERNALS[name].install}")
