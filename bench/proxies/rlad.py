"""Abstractions: a proposer and a solver, in rounds or online, against answers without any."""

from assay.source import Pool, Share
from bench.proxy import Arm, Proxy

SMALL = {"scale.num-prompts": "16", "scale.group-size": "16"}
PROXY = Proxy(
    method="rlad-two",
    expects="abstractions become useful to the solver: accuracy with them rises above that of a solver that reads "
    "abstractions nobody trains; answers without any are no worse than with plain RL",
    model="mod-chain-7",
    pool=Pool((Share("mod-chain-7", (3, 4, 5)),)),
    arms={
        "rlad-two": Arm("rlad-two", SMALL),
        "rlad-hierarchical": Arm("rlad-hierarchical", SMALL),
        "rlad": Arm("rlad", SMALL),
        "off": Arm("rlad-two", {**SMALL, "mechanism.curate": "untrained"}),
        "baseline": Arm("grpo", SMALL),
    },
    steps=30,
    diagnostic="reward/usefulness",
    direction="up",
    against="off",
)
