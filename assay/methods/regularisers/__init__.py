"""Regularisers: what keeps a policy near to another one, or its entropy where it is wanted."""

METHODS = (
    "kl_reference",
    "kl_ema",
    "kl_reset",
    "entropy_target",
    "entropy_advantage",
    "temp_entropy",
)
