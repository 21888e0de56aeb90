"""Losses: objectives other than a policy gradient; of pairs, of whole answers, of a partition function."""

METHODS = (
    "pacs",
    "rapid",
    "rover",
    "flowrl",
    "kimi",
    "rpg",
    "dpo",
    "iter_dpo",
    "ipo",
    "kto",
    "sweet_rl",
)
