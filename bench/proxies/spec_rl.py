"""Answers of the epoch before as drafts: how much is saved, and what it does to learning."""

from assay.source import Pool, Share
from bench.proxy import Arm, Proxy

SMALL = {
    "scale.num-prompts": "32",
    "scale.num-minibatches": "1",
    "mechanism.source.size": "96",
    "mechanism.remember.0.problems": "96",
}
PROXY = Proxy(
    method="spec-rl",
    expects="fewer tokens are decoded for a step, ever fewer as the policy settles, at equal accuracy per step; a "
    "lenience of 1 saves less than e^0.5, keeping everything saves most and hurts",
    model="countdown",
    pool=Pool((Share("countdown", (3, 4)),)),
    arms={
        "spec-rl": Arm("spec-rl", SMALL),
        "exact": Arm("spec-rl", {**SMALL, "mechanism.augment.0.lenience": "1"}),
        "release": Arm("spec-rl", {**SMALL, "mechanism.augment.0.residual": "no", "mechanism.assess": ""}),
        "everything": Arm("spec-rl", {**SMALL, "mechanism.augment.0.lenience": "1e9"}),
        "off": Arm("spec-rl", {**SMALL, "mechanism.augment": "", "mechanism.assess": "", "mechanism.remember": ""}),
        "baseline": Arm("grpo", {"scale.num-prompts": "32"}),
    },
    steps=30,
    diagnostic="length/given",
    direction="up",
    against="off",
)
