"""Answers that the property of verdicts leaves out, counted over all workers and told at the end of a run.

Whether an answer that takes about as long as it may is judged in time depends on the machine. Such an answer belongs
to no property of verdicts; that there are few of them does.
"""

from __future__ import annotations

import pytest

NAME, SHARE = "answers near their budget", 0.1


class NearBudget:
    """Adds up in the process that starts the workers."""

    def __init__(self) -> None:
        self.left_out, self.answers = 0, 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, value in report.user_properties if report.when == "call" else ():
            if name == NAME and isinstance(value, tuple | list):
                self.left_out, self.answers = self.left_out + int(value[0]), self.answers + int(value[1])

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.answers:
            share = f"{self.left_out} of {self.answers} answers"
            terminalreporter.line(f"a verdict depends on the answer alone: {share} were left out, near their budget")
