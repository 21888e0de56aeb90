"""`assay verify explain`: the verdict on an answer, and why."""

from __future__ import annotations

from typing import Any

from assay.verifiers.explainers import verifier


def explained(gold: str, response: str, *, by: str) -> tuple[dict[str, Any], str]:
    """(the verdict as JSON data, the same as text): what a verifier makes of a response where `gold` is right.

    explained("1/2", "The answer is 0.5", by="mathematics")
    """
    (explanation,) = verifier(by).explain([(gold, response)])
    verdict = explanation.verdict
    document = {
        "verdict": verdict.status,
        "kind": verdict.kind or None,
        "gold": explanation.gold,
        "answer": explanation.answer,
        "mark": explanation.mark,
        "layer": explanation.layer,
        "why": explanation.why,
    }
    kind = f"({verdict.kind})" if verdict.kind else ""
    mark = f"  (found by: {explanation.mark})" if explanation.mark else ""
    lines = [
        f"{verdict.status}{kind}",
        f"gold    {explanation.gold}",
        f"answer  {explanation.answer}{mark}",
        f"decided by {explanation.layer}: {explanation.why}",
    ]
    return document, "\n".join(lines)
