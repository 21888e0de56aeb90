"""Demonstrations: answers that others wrote, imitated alone or learnt from beside the policy's own."""

METHODS = (
    "sft",
    "luffy",
    "rl_plus",
    "srft",
    "hpt",
    "relift",
    "prefix_rft",
    "bread",
    "dft",
    "ift",
    "expert_iteration",
    "rcrl",
    "cft_1",
)
