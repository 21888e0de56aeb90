"""Unlabelled: rewards without a known answer; certainty, agreement, likelihood."""

METHODS = (
    "rlif",
    "em_rl",
    "rent",
    "rlsc",
    "one_shot_em",
    "ttrl",
    "srt",
    "ettrl",
    "empo",
    "r_zero",
    "serl",
    "covo",
    "co_reward",
    "rlccf",
    "rlpr",
    "rpt",
    "surrogate_fl",
    "spurious",
)
