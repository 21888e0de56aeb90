"""When the report of a run is written while it goes: often enough to be read, seldom enough to cost nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

SHARE = 0.01  # of the time of a run that writing its report may take while it goes; the last one comes in any case
APART = 10.0  # seconds between two of them, at the least


@dataclass
class Page:
    """`write` makes the report anew and whole; what it costs is measured, and decides when it is next made."""

    write: Callable[[], object]
    warn: Callable[[str], None]
    clock: Callable[[], float] = time.monotonic
    spent: float = 0.0  # seconds, on all of them
    _began: float = field(init=False)
    _last: float = field(init=False)
    _cost: float = 0.0  # of the last one
    _told: bool = False

    def __post_init__(self) -> None:
        self._began = self._last = self.clock()

    def due(self) -> bool:
        """Whether one more would keep within the share, if it costs what the last one did."""
        now = self.clock()
        return now - self._last >= APART and self.spent + self._cost <= SHARE * (now - self._began)

    def turn(self) -> None:
        """Writes it if it is due."""
        if self.due():
            self.now()

    def now(self) -> None:
        """Writes it. A report that cannot be written is told once, and stops no run."""
        began = self.clock()
        try:
            self.write()
        except Exception as error:  # of the disk, or of a record that was damaged under way: training needs no report
            if not self._told:
                self.warn(f"warning: the report could not be written: {error}")
            self._told = True
        self._last = self.clock()
        self._cost = self._last - began
        self.spent += self._cost
