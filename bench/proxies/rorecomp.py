from assay.source import Pool, Share
from bench.proxy import Arm, Proxy

SIZE = {"scale.num-prompts": "32"}

PROXY = Proxy(
    method="rorecomp",
    expects="fewer tool calls and shorter answers at equal success; without the buffer shortest of all, and worse",
    model="lookup",
    pool=Pool((Share("lookup-faulty", (3, 4)),)),
    arms={
        "rorecomp": Arm("rorecomp", SIZE),
        "off": Arm("rorecomp", {**SIZE, "mechanism.curate.0.often": "0", "mechanism.curate.0.seldom": "0"}),
        "baseline": Arm("rorecomp", {**SIZE, "mechanism.curate": "", "mechanism.remember": ""}),
    },
    steps=30,
    diagnostic="length/mean",
    direction="down",
    against="baseline",
)
