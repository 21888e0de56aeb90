"""How a verifier came to a verdict. `assay verify explain` shows it, and `assay verify audit` counts it."""

from __future__ import annotations

from dataclasses import dataclass

from assay.types import Verdict


@dataclass(frozen=True)
class Explained:
    """A verdict, and how the verifier came to it.

    Example:
        (one,) = explain([("1/2", "so it is \\\\boxed{0.5}")])
        one.verdict.status, one.layer  # ("ok", "number")
    """

    verdict: Verdict
    gold: str | None  # the reference as it was compared
    answer: str | None  # the answer that was found in the response
    mark: str  # the mark by which it was found: box, ####, ...; "": the response is the answer
    layer: str  # the layer that decided: text, words, number, kernel, ...
    why: str
