"""Reward functions of the calling program: they run in this process, under a watchdog."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from assay.host import interrupt
from assay.verifiers.functions.calling import Desk, Fault, Reply, file_of, line_in
from assay.verifiers.functions.loading import Function
from assay.verifiers.functions.watchdog import Interrupted, Watchdog


class Here:
    """Calls functions of this process. A function that is late is interrupted, or the whole process is ended."""

    def __init__(self, functions: Sequence[Function]) -> None:
        self.functions = {function.name: function for function in functions}
        self.files = {name: file_of(function.call) for name, function in self.functions.items()}
        self.watchdog = Watchdog()
        self.seconds = 0.0
        self.working: tuple[str, ...] = ()
        calls: Any = {name: function.call for name, function in self.functions.items()}
        self.desk = Desk(calls, self.files, self._watch, passing=(KeyboardInterrupt, Interrupted))

    def ask(
        self, names: Sequence[str], columns: Callable[[str], dict[str, Any]], count: int, seconds: float
    ) -> Iterator[tuple[str, Reply]]:
        """As `Desk.ask`, with a limit of `seconds` for each call."""
        self.seconds = seconds
        try:
            yield from self.desk.ask(names, columns, count)
        except Interrupted as error:
            interrupt.ask()  # if a stop was asked for, it raises here, and the function is not blamed
            name, *others = self.working
            line = line_in(error, self.files[name])
            fault = Fault("late", f"did not return within {seconds:g} s", line, beside=tuple(others))
            yield name, Reply(fault=fault, seconds=seconds)

    def close(self) -> None:
        self.desk.close()
        self.watchdog.close()

    @contextlib.contextmanager
    def _watch(self, names: Sequence[str]) -> Iterator[None]:
        self.working = tuple(names)
        with self.watchdog.watching(str(self.functions[names[0]]), self.seconds):
            yield
