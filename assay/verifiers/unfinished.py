"""The verdict on an answer whose job, in a worker process, did not come to a result."""

from __future__ import annotations

from assay.host.workers import Outcome
from assay.types import Verdict

_BLAMED = {
    "time": ("time", "no end within the processor time of an answer"),
    "memory": ("memory", "more memory than an answer may use"),
    "crash": ("undecided", "the program that verifies crashes on it"),
}


def starved(program: str) -> Verdict:
    """The verdict on an answer whose program the machine gave no processor time: a fault of ours."""
    return Verdict.invalid("worker_lost", f"{program} was given no processor time")


def unfinished(outcome: Outcome, program: str) -> Verdict | None:
    """The verdict on an answer by how its job ended; None if the job has a result.

    Only for a job of the answer: a job on a reference alone that comes to no end is no fault of the answer. The answer
    fails if its own job runs out of time or memory, or crashes, again at a second try. A process that ends for another
    reason, or code of ours that raises, is a fault of ours.

    unfinished(Outcome("crash"), "yosys")  # fail(undecided)
    """
    if outcome.status == "done":
        return None
    if outcome.status in _BLAMED:
        kind, why = _BLAMED[outcome.status]
        return Verdict.fail(kind, f"{program}: {why}")
    kind = "bug" if outcome.status == "error" else "worker_lost"
    return Verdict.invalid(kind, f"{program}: {outcome.status} {outcome.detail}".rstrip())
