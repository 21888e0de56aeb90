"""TreeRL on chains modulo 7: trees against chains with outcome rewards, and credit of subtrees against none."""

from __future__ import annotations

from assay.source import Pool, Share
from bench.proxy import Arm, Proxy

SCALE = {"scale.num-prompts": "16", "scale.group-size": "16"}
TREE = SCALE | {"mechanism.expand.0.until": "#"}  # the mark of an answer in these tasks
SAMPLED = {"scale.temperature": "1.2", "scale.top-p": "0.95"}

PROXY = Proxy(
    method="treerl",
    expects="higher accuracy at equal tokens than chains; subtree credit better than outcome credit on the same trees",
    model="mod-chain-7",
    pool=Pool((Share("mod-chain-7", (3, 4)),)),
    arms={
        "treerl": Arm("treerl", TREE),
        "off": Arm("treerl", TREE | {"mechanism.credit": "leave-one-out"}),
        "local": Arm("treerl", TREE | {"mechanism.credit.terms": "local"}),
        "baseline": Arm(
            "rloo",
            SCALE | SAMPLED | {"mechanism.objective.aggregate": "sequence-mean"},
        ),
    },
    steps=30,
    diagnostic="group/uniform_fraction",
    direction="down",
    against="baseline",
)
