from assay.source import Pool, Share
from bench.proxy import Arm, Proxy

KINDS = ((1, 2, 3), (1, 2, 3), (2, 3))
NAMES = ("dsl-deduction", "dsl-abduction", "dsl-induction")
SIZE = {
    "scale.num-prompts": "96",
    "scale.num-minibatches": "1",
    "stages.0.mechanism.source.size": "96",  # a pool that 30 steps have the time to fill
    "stages.1.when.size": "96",
}

PROXY = Proxy(
    method="azr",
    expects="as good as with a proposer that does not learn, or better, and better than random programs on long ones; "
    "what is posed becomes worth more",
    model="dsl",
    pool=Pool(tuple(Share(name, levels) for name, levels in zip(NAMES, KINDS, strict=True))),
    arms={
        "azr": Arm("azr", SIZE),
        "off": Arm("azr", {**SIZE, "mechanism.rules.0.every": "1000000"}),  # the proposer never learns
        "any valid one": Arm("azr", {**SIZE, "mechanism.rules.0.reward": "graded"}),
        "baseline": Arm("rloo", {"scale.num-prompts": "32", "scale.group-size": "8"}),
    },
    steps=30,
    diagnostic="reward/learnability",
    direction="up",
    against="off",
)
