"""The level of a sandbox that this machine holds, and the one sandbox that all code of this process uses."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence

from assay.errors import ConfigError
from assay.sandbox.limits import Level
from assay.sandbox.pool import Sandbox
from assay.sandbox.probe import Probed, probe
from assay.sandbox.remedies import remedies

LEVELS: tuple[Level, ...] = ("L2", "L1")  # the strongest first
FRESH = 3600.0  # seconds for which a probe is believed
_DOCUMENT = "docs/sandbox.md, 'Where no level holds',"
OVERRIDE = "ASSAY_SANDBOX"  # names the only level that may be chosen, such as L1

_lock = threading.Lock()
_probed: dict[Level, tuple[float, Probed]] = {}
_open: dict[Level, Sandbox] = {}


def probed(level: Level) -> Probed:
    """The findings of a probe of this level, at most an hour old."""
    with _lock:
        when, found = _probed.get(level, (-FRESH, None))
        if found is None or time.monotonic() - when > FRESH:
            found = probe(level)
            _probed[level] = time.monotonic(), found
        return found


def forget() -> None:
    """Lets the next use probe again, because a sandbox could not be started."""
    with _lock:
        _probed.clear()


def chosen(*, least: Level = "L1") -> Probed:
    """The strongest level that this machine holds. ConfigError if it holds none: then no program runs."""
    allowed: tuple[Level, ...] = LEVELS[: LEVELS.index(least) + 1]
    named = os.environ.get(OVERRIDE)
    if named:
        if named not in LEVELS:
            raise ConfigError(f"{OVERRIDE} names a level of the sandbox, {' or '.join(LEVELS)}, not '{named}'.")
        allowed = tuple(level for level in allowed if level == named)
        if not allowed:
            raise ConfigError(f"{OVERRIDE} allows {named} alone, and these programs need {least}: take it away.")
    failed = []
    for level in allowed:
        attempt = probed(level)
        if attempt.holds:
            return attempt
        failed.append(attempt)
    reasons = " ".join(f"{failure.level}: {'; '.join(failure.problems[:3])}." for failure in failed)
    raise ConfigError(
        f"programs that a model wrote would run here without a sandbox, so none runs. {reasons} {_to_do(allowed)}"
    )


def _to_do(levels: Sequence[Level]) -> str:
    steps = list(dict.fromkeys(step for level in levels for step in remedies(level)))
    if not steps:
        return f"{_DOCUMENT} says what each level needs, and what may close it."
    return f"To do: {'; '.join(steps)}. One level is enough. {_DOCUMENT} says more."


def above(found: Probed) -> str:
    """Why no stronger level than this one holds, and what to do; an empty text if this one is the strongest."""
    said = []
    for level in LEVELS[: LEVELS.index(found.level)]:
        if not (stronger := probed(level)).holds:
            said.append(f"{level} does not hold: {'; '.join([*stronger.problems[:1], *remedies(level)])}")
    return "; ".join(said)


def opened(*, least: Level = "L1") -> Sandbox:
    """The sandbox of this process, at the strongest level that this machine holds."""
    level = chosen(least=least).level
    with _lock:
        if level not in _open:
            _open[level] = Sandbox(level)
        return _open[level]
