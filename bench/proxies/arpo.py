from assay.source import Pool, Share
from bench.proxy import Arm, Proxy

SIZE = {"scale.num-prompts": "32", "mechanism.expand.0.total": "8"}

PROXY = Proxy(
    method="arpo",
    expects="the same success as groups of whole answers with fewer tool calls; forks that follow entropy beat random "
    "ones",
    model="lookup",
    pool=Pool((Share("lookup-tool", (3, 4)),)),
    arms={
        "arpo": Arm("arpo", {**SIZE, "scale.group-size": "4"}),
        "off": Arm("arpo", {**SIZE, "scale.group-size": "4", "mechanism.expand.0.weight": "0"}),
        "baseline": Arm("arpo", {**SIZE, "scale.group-size": "8"}),
    },
    steps=30,
    diagnostic="replies/asked",
    direction="down",
    against="baseline",
)
