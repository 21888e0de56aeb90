from assay.source import Pool, Share
from bench.proxy import Arm, Proxy

SCALE = {"scale.num-prompts": "32"}

PROXY = Proxy(
    method="ampo",
    expects="fewer groups without a signal; traces that the policy understands at least as good as random ones, those "
    "better than the least understood; the style of its own first",
    model="mod-chain-7",
    pool=Pool((Share("mod-chain-7", (4, 5, 6)),)),
    arms={
        "ampo": Arm("ampo", SCALE),
        "off": Arm("ampo", {**SCALE, "mechanism.expand.0.most": "0"}),
        "random teachers": Arm("ampo", {**SCALE, "mechanism.expand.0.choice": "random"}),
        "least understood": Arm("ampo", {**SCALE, "mechanism.expand.0.choice": "worst"}),
        "always one": Arm("ampo", {**SCALE, "mechanism.expand.0.most": "1", "mechanism.expand.0.right": "8"}),
        "baseline": Arm("dapo", SCALE),
    },
    steps=40,
    diagnostic="group/uniform_fraction",
    direction="down",
    against="off",
)
