"""The best settings of another system, chosen on this machine before it is measured."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from bench.pair import ROOT, Broken, Worker

TUNED = ROOT / "build" / "bench" / "tuned.json"
STEPS = 3  # the first is warm-up

Start = Callable[[Mapping[str, Any], int], Worker]
"""(options, steps) -> a process that takes so many steps."""


def trial(start: Start, options: Mapping[str, Any], say: Callable[[str], None]) -> float:
    """Seconds of the best step after the first; infinite, said aloud, where the settings do not run."""
    try:
        with start(options, STEPS) as worker:
            return min([worker.step()["seconds"] for _ in range(STEPS)][1:])
    except Broken as error:
        say(f"    {error}")
        return float("inf")


def tune(
    name: str, axes: Mapping[str, tuple[Any, ...]], start: Start, *, again: bool, say: Callable[[str], None]
) -> dict[str, Any]:
    """The fastest settings, one axis after another; kept under this name for the next run on this machine."""
    known = json.loads(TUNED.read_text()) if TUNED.exists() else {}
    if name in known and not again:
        return known[name]["options"]
    say(f"choosing the best settings of {name.partition('/')[2]}")
    best = {axis: values[0] for axis, values in axes.items()}
    seconds, tried = float("inf"), []
    for axis, values in axes.items():
        for value in values if not tried else values[1:]:
            options = best | {axis: value}
            took = trial(start, options, say)
            say(f"    {took:.2f} s  {json.dumps(options)}")
            tried.append({"options": options, "seconds": took if took < float("inf") else None})
            if took < seconds:
                seconds, best = took, options
    if seconds == float("inf"):
        raise Broken(f"{name} runs with none of its settings")
    known[name] = {"options": best, "tried": tried}
    TUNED.parent.mkdir(parents=True, exist_ok=True)
    TUNED.write_text(json.dumps(known, indent=1) + "\n")
    return best
