"""What the papers of training without labels say of a few rows of given rewards, worked out without the library."""

from __future__ import annotations

PLAIN = (0.2, 0.2, None)
GENTLE = ("rent", "ttrl", "surrogate-fl", "surrogate-f")
REFERENCE = {"rlif": 5e-3, "rlpr": 0.0, **dict.fromkeys(GENTLE, 1e-3)}  # weight of k3 beside GRPO over tokens
SPURIOUS = ("spurious-random", "spurious-format", "spurious-incorrect", "spurious-majority")
PLAIN_MEANS = ("empo", "empo-log", "r-zero", "sqlm", "rpt", *SPURIOUS)  # GRPO without a KL
CROSSED = {"co-reward": 5e-3, "co-reward-teacher": 1e-3}  # GRPO with this weight of k3
CLIPS = {**dict.fromkeys((*REFERENCE, *PLAIN_MEANS, *CROSSED), PLAIN), "rlpr": (0.2, 0.27, None)}
LIKE = {
    "em-rl": "rloo",
    "em-rl-token": "rloo",
    "rlsc": "reinforce",
    "srt": "grpo",
    "srt-easy": "grpo",
    "rlccf": "grpo",
    "covo": "rfpp",
    "serl": "rfpp",
}
ENTROPY = ("em-ft", "one-shot-em")  # the loss is the entropy, and rewards are nothing
BY_TOKENS = (*REFERENCE, "one-shot-em")  # means over all tokens; the others are sums over answers
