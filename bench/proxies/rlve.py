from assay.source import Pool, Share
from bench.proxy import Arm, Proxy

SCALE = {"scale.num-prompts": "32", "scale.oversample": "1"}

PROXY = Proxy(
    method="rlve",
    expects="fewer groups that are all alike than with levels drawn uniformly, because the window follows the policy",
    model="countdown",
    pool=Pool((Share("countdown", (3, 4, 5, 6)),)),
    arms={
        "rlve": Arm("rlve", SCALE),
        "off": Arm("rlve", {**SCALE, "mechanism.source": "uniform"}),
        "baseline": Arm("dapo", SCALE),
    },
    steps=30,
    diagnostic="group/uniform_fraction",
    direction="down",
    against="off",
)
