"""The sandbox asked through a worker: how `assay doctor` and the check before training examine it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from assay.sandbox.levels import above, opened, probed
from assay.sandbox.limits import Execution, Limits


def answer(job: dict[str, Any], tell: Callable[[str], None]) -> dict[str, Any]:
    """Runs a program at the strongest level that the probe finds to hold; an error says why none does.

    answer({"program": "print(6 * 7)", "input": "", "output": "42"}, tell)["right"]
    """
    sandbox = opened()
    tell("probed")
    (ran,) = sandbox.map([Execution(job["program"], job["input"].encode(), Limits(seconds=5.0))])
    found = probed(sandbox.level)
    right = ran.status == "exit" and ran.code == 0 and ran.output.decode().split() == job["output"].split()
    return {"right": right, "status": ran.status, "facts": dict(found.facts), "above": above(found)}
