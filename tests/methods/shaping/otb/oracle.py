"""What the paper says of the tokens of a step, in plain Python."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from formulas import clipped, over_tokens, rewards
from oracles import Answer, Oracle, Step


def beyond_the_token_baseline(answers: Sequence[Answer], step: Step) -> list[list[float]]:
    """At token t: R - the mean of R weighted by the energy up to t of the answers that are longer than t."""
    found = rewards(answers, step)
    energy = [torch.as_tensor(answer.known.get("energy", []))[: len(answer.own)] for answer in answers]
    energies = [e[answer.own].tolist() if len(e) else [] for e, answer in zip(energy, answers, strict=True)]
    result = []
    for reward, own in zip(found, energies, strict=True):
        result.append([0.0] * len(own))
        for t in range(len(own)):
            weight = [sum(e[: t + 1]) if len(e) > t else 0.0 for e in energies]
            base = sum(w * r for w, r in zip(weight, found, strict=True)) / (sum(weight) + 1e-8)
            result[-1][t] = reward - base if len(set(found)) > 1 else 0.0
    return result


ORACLES = {
    "otb": Oracle(beyond_the_token_baseline, clipped(), over_tokens),
}
