"""Start states inside demonstrations, mixed or sliding, against PPO from the question alone."""

from assay.source import Pool, Share
from bench.proxy import Arm, Proxy

SMALL = {"scale.num-prompts": "128", "scale.group-size": "1"}
PROXY = Proxy(
    method="r3",
    expects="from the question alone, mixed start states are at least as good as sliding ones and better than PPO that "
    "always starts there",
    model="mod-chain-7",
    pool=Pool((Share("mod-chain-7", (3, 4, 5)),)),
    arms={
        "r3": Arm("r3", SMALL),
        "staged": Arm("r3-staged", SMALL),
        "off": Arm("r3", {**SMALL, "mechanism.ask": ""}),
        "baseline": Arm("reinforce", SMALL),
    },
    steps=30,
    diagnostic="reward/accuracy",
    direction="up",
    against="off",
)
