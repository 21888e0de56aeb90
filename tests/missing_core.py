"""Tests of the compiled core, `@pytest.mark.core` or `core("bf16")`: left out where this machine has none, and counted.

There is none on a processor that the core has no code for, without a compiler, and where `ASSAY_CORE` says `none` or
names a variant in the other format. A core that does not compile or load is no reason: its tests run, and fail. Where
CI sets ASSAY_EXTERNALS (`missing_externals.py`), a core that nobody turned off must be there.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator
from typing import Any

import pytest
from missing_externals import VARIABLE

from assay.engine.native import build

MISSING = "missing_core"


def unusable(format: build.Format = "fp32") -> str:
    """Why there is no core in this format here; empty if there is one, or should be."""
    try:
        if not build.packaged(build.chosen(format)):
            build.compiler()
    except build.Unavailable as reason:
        return str(reason)
    return ""


def need(format: build.Format = "fp32") -> None:
    """Skips the test that asks for an engine on the core where there is none."""
    if reason := unusable(format):
        _skip(reason)


def variants(format: build.Format | None = None, *, fast: int = 99) -> list[Any]:
    """What to parametrise a test of the core with: the variants that run here, or the one that `ASSAY_CORE` names;
    all but the first `fast` are slow.
    """
    known = [v for v in build.runnable() if format in (None, v.format)]
    known.sort(key=lambda v: (v.emulated, v.format != "fp32"))
    named = os.environ.get(build.CHOICE)
    found = [v for v in known if named in (None, "", v.name)]
    if not found:
        reason = f"{build.CHOICE}={named}" if named else "this processor runs no variant"
        return [pytest.param(None, id="none", marks=pytest.mark.core(format or "fp32", because=reason))]
    slow = [[] if i < fast else [pytest.mark.slow] for i in range(len(found))]
    return [
        pytest.param(v, id=v.name, marks=[pytest.mark.core(v.format, variant=v.name), *marks])
        for v, marks in zip(found, slow, strict=True)
    ]


def _skip(reason: str) -> None:
    if os.environ.get(VARIABLE) and not os.environ.get(build.CHOICE) and not os.environ.get(build.COMPILER):
        pytest.fail(f"the core must run here ({VARIABLE}={os.environ[VARIABLE]}), but {reason}", False)
    raise pytest.skip.Exception(f"{MISSING}: {reason}")


def _reason_of(mark: pytest.Mark) -> str:
    """Of a mark with a variant whether it can be built; the variable may name another, which the test sets itself."""
    if "because" in mark.kwargs:
        return mark.kwargs["because"]
    if "variant" not in mark.kwargs:
        return unusable(*mark.args)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(build.CHOICE, mark.kwargs["variant"])
        return unusable(*mark.args)


class MissingCore:
    """Skips in each worker, adds up in the process that starts them."""

    def __init__(self) -> None:
        self.skipped: Counter[str] = Counter()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        for mark in item.iter_markers("core"):
            if reason := _reason_of(mark):
                _skip(reason)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if report.skipped and isinstance(report.longrepr, tuple) and f"{MISSING}: " in report.longrepr[2]:
            setattr(report, MISSING, report.longrepr[2].partition(f"{MISSING}: ")[2])  # a worker sends attributes
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if reason := getattr(report, MISSING, ""):
            self.skipped[reason] += 1

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.skipped:
            terminalreporter.section("no compiled core here")
            for reason, count in self.skipped.most_common():
                tests = "1 test" if count == 1 else f"{count} tests"
                terminalreporter.line(f"{tests} skipped: {reason}")
