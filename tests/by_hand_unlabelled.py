"""What the papers of training without labels say of a few rows of given rewards, worked out without the library."""

from __future__ import annotations

PLAIN = (0.2, 0.2, None)
REFERENCE = {"rlif": 5e-3, "rent": 1e-3}  # weight of k3 beside GRPO over tokens
CLIPS = dict.fromkeys(REFERENCE, PLAIN)
LIKE = {"em-rl": "rloo", "em-rl-token": "rloo", "rlsc": "reinforce"}
ENTROPY = ("em-ft", "one-shot-em")  # the loss is the entropy, and rewards are nothing
BY_TOKENS = (*CLIPS, "one-shot-em")  # means over all tokens; the others are sums over answers
