"""The report of a run while the run goes on: rewritten often enough to be current, without slowing the run down."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

SHARE = 0.01  # the largest share of a run's time for writing reports; the last report is always written
APART = 10.0  # the least number of seconds between two reports


@dataclass
class Page:
    """Decides when the report is written again: `write` writes it whole, and its duration decides how often.

    page = Page(lambda: write_report(folder), warn=print)
    page.turn()  # after each step; writes only if a report is due
    """

    write: Callable[[], object]
    warn: Callable[[str], None]
    clock: Callable[[], float] = time.monotonic
    spent: float = 0.0  # seconds spent on all reports of this run
    _began: float = field(init=False)
    _last: float = field(init=False)
    _cost: float = 0.0  # seconds that the last report took
    _warned: bool = False

    def __post_init__(self) -> None:
        self._began = self._last = self.clock()

    def due(self) -> bool:
        """Whether another report may be written: it is assumed to take as long as the last one."""
        now = self.clock()
        return now - self._last >= APART and self.spent + self._cost <= SHARE * (now - self._began)

    def turn(self) -> None:
        """Writes the report if it is due."""
        if self.due():
            self.now()

    def now(self) -> None:
        """Writes the report now. If that fails, the first failure gives a warning, and the run goes on."""
        began = self.clock()
        try:
            self.write()
        except Exception as error:  # the disk failed or a record is damaged; training does not need the report
            if not self._warned:
                self.warn(f"warning: the report could not be written: {error}")
            self._warned = True
        self._last = self.clock()
        self._cost = self._last - began
        self.spent += self._cost
