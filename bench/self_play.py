"""Do policies of self-play become hard to beat? The exact exploitability of a policy in Kuhn's poker, from the
probabilities of its moves at all twelve information states.

    python -m bench.self_play runs/spiral
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from assay.ask import Codec
from assay.engine.interface import Engine, Span
from assay.worlds.matches import Mixed
from assay.worlds.matches.kuhn import STATES, exploitability, value


def strategy_of(engine: Engine, codec: Codec) -> dict[str, Mixed]:
    """How likely each move is at each information state in compact wording, at temperature 1: the move and the end of
    the turn. What is missing to 1 is the probability of a turn that makes no move.
    """
    ends = sorted(codec.end_ids)
    wanted = [(state, move, end) for state in STATES for move in "pb" for end in ends]
    spans = [Span(codec.render(s), np.append(codec.encode(m), np.int32(end)), 1.0) for s, m, end in wanted]
    chances: dict[str, dict[str, float]] = {state: {"p": 0.0, "b": 0.0} for state in STATES}
    for (state, move, _), scores in zip(wanted, engine.score(spans), strict=True):
        chances[state][move] += math.exp(float(scores.logp.sum(dtype=np.float64)))
    return dict(chances)


def measured(first: Mapping[str, Mixed], second: Mapping[str, Mixed] | None = None) -> dict[str, Any]:
    """What a pair of strategies is worth; the second seat is played by the same one if no other is given."""
    second = first if second is None else second
    illegal = {state: 1 - sum((first if state[0] == "1" else second)[state].values()) for state in STATES}
    return {
        "exploitability": exploitability(first.__getitem__, second.__getitem__),
        "value": value(first.__getitem__, second.__getitem__),
        "illegal": max(illegal.values()),
    }
