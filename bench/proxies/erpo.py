from assay.source import Pool, Share
from bench.proxy import Arm, Proxy

SCALE = {"scale.num-prompts": "32", "mechanism.source.size": "256"}

PROXY = Proxy(
    method="erpo",
    expects="the share of groups without a mistake stays lower than at one temperature; entropy stays higher than with "
    "the failure alone; gains small and late",
    model="lookup",
    pool=Pool((Share("lookup-tool", (3,)),)),
    arms={
        "erpo": Arm("erpo", SCALE),
        "off": Arm("erpo", {**SCALE, "mechanism.remember.0.highest": "1.0"}),
        "baseline": Arm("dapo", {"scale.num-prompts": "32"}),
    },
    steps=40,
    final_samples=64,
    diagnostic="group/all_right",
    direction="down",
    against="off",
)
