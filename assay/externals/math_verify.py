"""Math-Verify: answers of mathematics that exact arithmetic leaves undecided."""

from __future__ import annotations

from assay.externals.external import External
from assay.externals.versions import of_package

MATH_VERIFY = External(
    name="math-verify",
    purpose="compares answers of mathematics symbolically",
    install="pip install 'assay-rl[externals]'",
    version=lambda: of_package("math-verify"),
    answer="assay.verifiers.mathematics.symbolic_worker:answer",
    passes={"gold": r"\int_0^1 x^3 dx", "answer": r"\frac{1}{4}"},
    fails={"gold": r"\int_0^1 x^3 dx", "answer": r"\frac{1}{3}"},
    accepts=lambda decision: decision["equal"] is True,
)
