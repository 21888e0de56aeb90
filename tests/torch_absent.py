"""Where torch is not installed: what needs it is skipped, and counted at the end of the run."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

REASON = "needs torch, which is not installed"
MISSING = "No module named 'torch'"


def needs_torch(error: BaseException | None) -> bool:
    """Whether an import of torch is where it began."""
    while error is not None:
        if isinstance(error, ModuleNotFoundError) and (error.name or "").split(".")[0] == "torch":
            return True
        error = error.__cause__ or error.__context__
    return False


class TorchAbsent:
    """Registered only where torch cannot be imported, so that it hides nothing anywhere else."""

    def __init__(self, config: pytest.Config) -> None:
        self.worker: dict[str, Any] | None = getattr(config, "workeroutput", None)
        self.files: set[str] = set()
        self.tests: set[str] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        report = yield
        call = getattr(report, "call", None)
        if report.failed and call is not None and needs_torch(call.excinfo.value):
            report.outcome, report.longrepr = "skipped", (report.nodeid, 0, f"Skipped: {REASON}")
            self.files.add(report.nodeid)
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """A failed import may have been told by the command line, or by a program that the test started."""
        report = yield
        error = call.excinfo.value if call.excinfo is not None else None
        told = report.longreprtext + "".join(text for _, text in report.sections) if report.failed else ""
        if report.failed and (needs_torch(error) or MISSING in told):
            report.outcome, report.longrepr = "skipped", (report.nodeid, 0, f"Skipped: {REASON}")
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped and any(words in str(report.longrepr) for words in (REASON, "could not import 'torch'")):
            self.tests.add(report.nodeid)

    def pytest_collection_finish(self) -> None:
        if self.worker is not None:
            self.worker["need_torch"] = sorted(self.files)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self.files.update(getattr(node, "workeroutput", {}).get("need_torch", ()))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.line(f"not run without torch: {len(self.files)} files, and {len(self.tests)} tests of others")
