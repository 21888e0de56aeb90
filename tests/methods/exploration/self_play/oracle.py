"""What the recipes say of the tokens of a step, in plain Python."""

from formulas import centred, clipped, over_tokens
from oracles import Oracle

OWN = Oracle(centred, clipped(0.2, 0.2), over_tokens)
ORACLES = {"self-play": OWN, "self-play-two": OWN}
