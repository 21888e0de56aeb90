"""What an exam says of the worlds that replied: turns, replies that tell of an error, and faults of the worlds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

PLAYS = "plays"  # the key of a record of an exam
ROWS = (("turns", "mean turns"), ("replies", "mean replies"), ("failed", "failed replies"))


def plays_of(record: Mapping[str, Any]) -> dict[str, float]:
    """The numbers on plays in the record of an exam; empty where nobody replied, and in records of earlier versions."""
    told = record.get(PLAYS)
    pairs = told.items() if isinstance(told, Mapping) else ()
    return {str(name): float(n) for name, n in pairs if isinstance(n, int | float) and math.isfinite(n)}


def play_rows(before: Mapping[str, Any], after: Mapping[str, Any] | None) -> list[tuple[str, str, str]]:
    """What was measured of plays, before and after training, as cells of a table; no rows where nobody replied."""
    first, last = plays_of(before), plays_of(after or {})
    return [
        (label, _number(name, first.get(name)), _number(name, last.get(name)))
        for name, label in ROWS
        if name in first or name in last
    ]


def play_lines(record: Mapping[str, Any]) -> list[str]:
    """The lines below a table on the plays of an exam; none where nobody replied."""
    told = plays_of(record)
    if not told:
        return []
    lines = [fault_line(lost)] if (lost := faults_of(record)) else []
    if "turns" not in told:
        return lines
    counts = (_number(name, told.get(name, 0.0)) for name in ("turns", "replies"))
    failed = f"; {_number('failed', told['failed'])} of the replies tell of an error" if "failed" in told else ""
    return ["an answer has {} turns and {} replies".format(*counts) + failed, *lines]


def fault_line(faults: int) -> str:
    return (
        f"the world failed in {faults} {'answer, which counts' if faults == 1 else 'answers, which count'} for nothing"
    )


def faults_of(record: Mapping[str, Any]) -> int:
    """How many answers of an exam have no verdict because of a fault of their world."""
    return int(plays_of(record).get("faults", 0))


def metrics_of_plays(record: Mapping[str, Any]) -> dict[str, float]:
    """The numbers on plays under their metric names: `eval/test/plays/turns`."""
    return {f"eval/{record['set']}/{PLAYS}/{name}": n for name, n in plays_of(record).items() if name != "answers"}


def _number(name: str, value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.1%}" if name == "failed" else f"{value:.2f}"
