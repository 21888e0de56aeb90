"""Judges: models that judge answers, and learn to."""

METHODS = (
    "rl_tango",
    "j1",
    "cloud",
    "self_rewarding",
    "meta_rewarding",
    "k2_critic",
    "tp_judge",
    "cosine_verifier",
)
