"""How many instructions answers follow: the four accuracies of IFEval (2311.07911)."""

from __future__ import annotations

import json
from collections.abc import Iterable

from assay.types import Episode

RULED = "ruled"  # in the spec of a problem whose reference is a list of rules


def instruction_rates(episodes: Iterable[Episode]) -> dict[str, float]:
    """The shares of answers that follow all their instructions, and of instructions that are followed, each by the
    strict and by the loose criterion; empty where no answer has instructions and a verdict on them.
    """
    rows = [
        (len(json.loads(episode.request.problem.spec["gold"])), episode.verdict.scores)
        for episode in episodes
        if episode.request.problem.spec.get(RULED)
        and episode.verdict is not None
        and episode.verdict.status != "invalid"
    ]
    if not rows:
        return {}
    shares = {
        name: [(count, float(scores.get(key) or 0.0)) for count, scores in rows]
        for name, key in (("strict", "rules"), ("loose", "rules-loose"))
    }
    whole = sum(count for count, _ in rows)
    rates = {f"prompts_{name}": sum(share == 1 for _, share in of) / len(rows) for name, of in shares.items()}
    return rates | {f"instructions_{name}": sum(n * share for n, share in of) / whole for name, of in shares.items()}
