"""How a verifier came to a verdict. `assay verify explain` shows it, and `assay verify audit` counts it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from assay.types import Verdict


@dataclass(frozen=True)
class Verified:
    """A verdict, and the layer of the verifier that decided: `Verified(Verdict.ok(), "proof")`."""

    verdict: Verdict
    layer: str = "text"


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


def bad_gold(why: str) -> Explained:
    """The explanation of a reference that no answer can be verified against, which is a fault of the data."""
    return Explained(Verdict.invalid("bad_gold", why), None, None, "", "gold", why)


def explain_blocks(
    pairs: Sequence[tuple[str, str]],
    fenced: Callable[[str], str | None],
    verify: Callable[[list[tuple[str, str]]], Sequence[Verified]],
    success: str,
) -> list[Explained]:
    """Explains answers that are a whole text, or stand in the last code block of a response: `fenced` finds the block,
    `verify` decides on pairs of a reference and a text, and `success` says why an answer is right.
    """
    texts = [(reference, fenced(response) or response) for reference, response in pairs]
    return [
        Explained(
            verified.verdict,
            reference,
            text.strip(),
            "fence" if text != response else "",
            verified.layer,
            verified.verdict.detail or success,
        )
        for (reference, text), (_, response), verified in zip(texts, pairs, verify(texts), strict=True)
    ]
