"""Tests of a foreign program, `@pytest.mark.external("coq")`: left out by name where it cannot be used, and counted.

An external cannot be used where it is missing, or where its self-test fails, as that of the sandbox does on a machine
that offers no isolation. Three ways, by the variable ASSAY_EXTERNALS: unset, such tests are skipped; `listed`, as
`.ci/run` sets it, the externals of `ci_externals.txt` must work; `all`, as `make test-deep` sets it, all must work.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Generator
from functools import lru_cache
from pathlib import Path

import pytest

from assay.externals import EXTERNALS, examine

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
def unusable(name: str) -> str:
    """Why an external cannot be used here; empty if it can."""
    if name not in EXTERNALS:
        raise pytest.UsageError(f"a test is marked with the external '{name}'; there are {', '.join(EXTERNALS)}.")
    found = examine(EXTERNALS[name])
    return {"ok": "", "missing": "missing", "broken": f"its self-test fails: {found.problem}"}[found.state]


def missing_of(item: pytest.Item) -> list[str]:
    """The externals of a test that cannot be used, in the order of its marks."""
    named = [name for mark in item.iter_markers("external") for name in mark.args]
    return [name for name in dict.fromkeys(named) if unusable(name)]


class MissingExternals:
    """Skips or fails the tests of missing externals in each worker, adds up in the process that starts them."""

    def __init__(self) -> None:
        self.skipped: dict[str, int] = defaultdict(int)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        found = missing_of(item)
        if wanted := [name for name in found if must_be_there(name)]:
            lines = "; ".join(f"{name} ({unusable(name)}): {EXTERNALS[name].install}" for name in wanted)
            pytest.fail(f"externals that must work do not ({VARIABLE}={os.environ[VARIABLE]}). {lines}", False)
        if found:
            pytest.skip(f"cannot be used here: {', '.join(found)}")

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
        terminalreporter.section("externals that cannot be used here")
        for name, count in sorted(self.skipped.items()):
            tests = "1 test" if count == 1 else f"{count} tests"
            terminalreporter.line(f"{name}: {tests} skipped, {unusable(name)}. To run them: {EXTERNALS[name].install}")
