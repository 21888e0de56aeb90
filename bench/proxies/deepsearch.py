"""DeepSearch on chains modulo 7 that the base hardly solves: search against independent chains."""

from __future__ import annotations

from assay.source import Pool, Share
from bench.proxy import Arm, Proxy

SCALE = {"scale.num-prompts": "16", "scale.group-size": "8"}
SEARCH = SCALE | {"mechanism.augment.1.depth": "6", "mechanism.augment.1.width": "4"}

PROXY = Proxy(
    method="deepsearch",
    expects="more prompts with a right row than chains at equal tokens, and accuracy rises where chains are stuck",
    model="mod-chain-7",
    pool=Pool((Share("mod-chain-7", (5,)),)),
    arms={
        "deepsearch": Arm("deepsearch", SEARCH),
        "off": Arm("deepsearch", SCALE | {"mechanism.augment.1.depth": "1"}),
        "baseline": Arm("grpo", SCALE),
    },
    steps=30,
    diagnostic="group/all_wrong",
    direction="down",
    against="off",
)
