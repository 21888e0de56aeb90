"""What a worker process of the mathematics verifier imports: everything that its first job would else wait for."""

from __future__ import annotations

import math_verify.grader  # noqa: F401

from assay.verify.symbolic import answer, parsed

parsed(r"\sqrt{2}")

__all__ = ["answer"]
