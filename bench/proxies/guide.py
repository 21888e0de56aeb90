from assay.source import Pool, Share
from bench.proxy import Arm, Proxy

SCALE = {"scale.num-prompts": "32", "scale.group-size": "4", "mechanism.expand.1.max-rounds": "2"}

PROXY = Proxy(
    method="guide",
    expects="more rows train than without the retry; held-out pass@1 without hints above the arm that trains with the "
    "hint in the prompt, and steadier than without the corrected ratio",
    model="mod-chain-7",
    pool=Pool((Share("mod-chain-7", (4, 5, 6)),)),
    arms={
        "guide": Arm("guide", SCALE),
        "off": Arm("guide", {**SCALE, "mechanism.expand.0.share": "0"}),
        "trained with the hint": Arm("guide", {**SCALE, "mechanism.expand.0.trained": "hinted"}),
        "baseline": Arm("dapo", {"scale.num-prompts": "32", "scale.group-size": "4"}),
    },
    steps=40,
    final_samples=64,
    diagnostic="update/tokens",
    direction="up",
    against="off",
)
