"""What the paper says of the tokens of a step, in plain Python."""

from __future__ import annotations

from formulas import clipped, over_tokens, rewards, whitened
from oracles import Oracle


def discounted(worth: float, length: int) -> list[float]:
    """Without a critic every error but the last is 0: gamma lambda = 0.98 * 0.8 for each token to the end."""
    return [worth * (0.98 * 0.8) ** (length - 1 - t) for t in range(length)]


ORACLES = {"ppo-control": Oracle(rewards, clipped(0.2, 0.2), over_tokens, spread=discounted, shape=whitened())}
