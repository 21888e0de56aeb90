"""The program of the mathematics verifier's worker process. It compares each gold with a
harmless answer first, so that a gold on which the library hangs is not blamed on an answer.

The libraries are imported and used once here. Parts of them are loaded at their first use, which takes longer than the
time that a job gets; a verdict must not depend on whether its worker is new.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import math_verify.grader  # noqa: F401

from assay.verifiers.mathematics import clocked, symbolic
from assay.verifiers.mathematics.compare import Decision, Symbolic, compare
from assay.verifiers.mathematics.symbolic import GOLD_READ, BadGold, _Library

SECONDS = 0.5  # of the processor that every gold and every answer has, whatever is judged beside it
HARMLESS = "7"  # an answer on which nothing hangs
_sound: set[str] = set()  # the golds that have been compared with the harmless answer

for gold, found in ((r"\int_0^1 x^3 dx", r"\frac{1}{4}"), (r"\sum_{k=1}^{3} \frac{k}{2}", "3")):
    symbolic.answer({"gold": gold, "answer": found})


def answer(job: dict[str, str], tell: Callable[[str], None]) -> dict[str, Any]:
    """The decision on a pair that exact arithmetic left undecided, `bad_gold` or `time`.

    The gold and the answer have SECONDS each. The worker tells its parent when the gold has been read: if it has to be
    killed before that, it hangs on the gold.
    """
    alone = _Alone(_Library())
    try:
        if job["gold"] not in _sound:
            clocked.within(SECONDS, lambda: _compared(job, alone))
            _sound.add(job["gold"])
    except clocked.OutOfTime:
        if alone.asking:
            return {"bad_gold": True}  # else the answer took the time, and will again
    tell(GOLD_READ)
    try:
        return clocked.within(SECONDS, lambda: symbolic.answer(job))
    except clocked.OutOfTime:
        return {"time": True}


def _compared(job: dict[str, str], alone: _Alone) -> None:
    """Compares the gold with a harmless answer. Errors are reported by the real comparison; here only memory counts."""
    try:
        compare(job["gold"], job["answer"], symbolic=alone)
    except BadGold:
        return
    except Exception as error:
        if isinstance(error, MemoryError):
            raise


class _Alone:
    """Compares each part of a gold with the harmless answer in place of the real one, and calls every pair equal."""

    def __init__(self, library: Symbolic) -> None:
        self.library = library
        self.asking = False  # whether the library is at work on the gold

    def same(self, gold: str, answer: str) -> Decision:
        self.asking = True
        self.library.same(gold, HARMLESS)
        self.asking = False
        return Decision(True, "symbolic", "the gold by itself")
