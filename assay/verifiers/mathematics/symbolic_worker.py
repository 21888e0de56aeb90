"""The program of the mathematics verifier's worker process. It compares each gold with a
harmless answer first, so that a gold on which the library hangs is not blamed on an answer.

The libraries are imported and used once here, before any job: parts of them are loaded at their first use, which takes
longer than the time that an answer gets.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import math_verify.grader  # noqa: F401

from assay.verifiers.mathematics import symbolic
from assay.verifiers.mathematics.compare import Decision, Symbolic, compare
from assay.verifiers.mathematics.symbolic import GOLD_ASKED, GOLD_READ, Library

HARMLESS = "7"  # an answer on which nothing hangs

for gold, found in ((r"\int_0^1 x^3 dx", r"\frac{1}{4}"), (r"\sum_{k=1}^{3} \frac{k}{2}", "3")):
    symbolic.answer({"gold": gold, "answer": found})


def answer(job: dict[str, str], tell: Callable[[str], None]) -> dict[str, Any]:
    """The decision on a pair that exact arithmetic left undecided.

    The worker tells its parent when the library is asked about the gold alone, and when that is done. If it hangs
    between the two, it hangs on the gold.
    """
    try:
        compare(job["gold"], job["answer"], symbolic=_Alone(Library(), tell))
    except Exception as error:  # errors are reported below, by the real comparison; here only memory counts
        if isinstance(error, MemoryError):
            raise
    tell(GOLD_READ)
    return symbolic.answer(job)


class _Alone:
    """Compares each part of a gold with the harmless answer in place of the real one, and calls every pair equal."""

    def __init__(self, library: Symbolic, tell: Callable[[str], None]) -> None:
        self.library, self.tell = library, tell

    def same(self, gold: str, answer: str) -> Decision:
        self.tell(GOLD_ASKED)
        self.library.same(gold, HARMLESS)
        self.tell("")
        return Decision(True, "symbolic", "the gold by itself")
