"""What a run of the tests costs: processor seconds by file, printed at its end.

A test's cost is what its process used since the report before, children that ended in between included. A child that a
later test waits for is paid by that test's file.
"""

from __future__ import annotations

import resource
from collections import defaultdict
from collections.abc import Generator
from typing import Any

import pytest

SECONDS = "processor_seconds"
SHOWN = 20
MOST_MINUTES = 30


def processor_seconds() -> float:
    """What this process and its ended children have used so far."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(of.ru_utime + of.ru_stime for of in used)


class SuiteTime:
    """Measures in each worker, adds up in the process that starts them."""

    def __init__(self, config: pytest.Config) -> None:
        self.worker: dict[str, float] | None = getattr(config, "workeroutput", None)
        self.before = processor_seconds()
        self.collecting = 0.0
        self.seconds: dict[str, float] = defaultdict(float)
        self.tests: dict[str, set[str]] = defaultdict(set)

    def pytest_collection_finish(self) -> None:
        self.before = processor_seconds()
        if self.worker is None:
            self.collecting += self.before
        else:
            self.worker["collecting"] = self.before

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        now = processor_seconds()
        setattr(report, SECONDS, now - self.before)  # what a worker sends holds every attribute
        self.before = now
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if self.worker is None:
            path = report.nodeid.split("::")[0]
            self.seconds[path] += getattr(report, SECONDS, 0.0)  # that of a worker that died has none
            self.tests[path].add(report.nodeid)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self.collecting += getattr(node, "workeroutput", {}).get("collecting", 0.0)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if len(self.seconds) < 2:
            return
        dearest = sorted(self.seconds, key=lambda path: -self.seconds[path])[:SHOWN]
        terminalreporter.section(f"processor seconds: the {len(dearest)} dearest of {len(self.seconds)} files")
        for path in dearest:
            terminalreporter.line(f"{self.seconds[path]:8.1f}  {path} ({len(self.tests[path])} tests)")
        tests = sum(self.seconds.values())
        minutes = (tests + self.collecting) / 60
        spent = f"{minutes:.1f} processor minutes: tests {tests / 60:.1f}, collection {self.collecting / 60:.1f}"
        over = minutes > MOST_MINUTES
        terminalreporter.line(f"{spent}; {'MORE THAN' if over else 'at most'} {MOST_MINUTES}", red=over)
