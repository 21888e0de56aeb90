"""Gates: how much of a token's gradient passes as its probability moves, and which tokens have one at all."""

METHODS = (
    "cispo",
    "gppo",
    "sapo",
    "gspo",
    "gmpo",
    "gepo",
    "topr",
    "dppo",
    "two_sided_clip",
    "sequence_mask",
    "fork_mask",
    "clip_cov",
)
