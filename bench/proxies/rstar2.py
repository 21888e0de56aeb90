from assay.source import Pool, Share
from bench.proxy import Arm, Proxy

SIZE = {"scale.num-prompts": "16", "scale.group-size": "16"}
ALL = {"mechanism.curate": "mixed-groups"}

PROXY = Proxy(
    method="rstar2",
    expects="fewer tool errors in right answers, and shorter ones, at equal or better success",
    model="lookup",
    pool=Pool((Share("lookup-faulty", (3, 4)),)),
    arms={
        "rstar2": Arm("rstar2", {**SIZE, "mechanism.curate.1.keep": "8"}),
        "off": Arm("rstar2", {**SIZE, **ALL}),
        "baseline": Arm("dapo", {"scale.num-prompts": "32", "scale.group-size": "8"}),
    },
    steps=30,
    diagnostic="replies/failed_right",
    direction="down",
    against="off",
)
