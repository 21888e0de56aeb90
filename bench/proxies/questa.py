"""The beginning of a solution in the question: half, then a quarter, then examined without."""

from assay.source import Pool, Share
from bench.proxy import Arm, Proxy

SMALL = {"scale.num-prompts": "32", "mechanism.expand.0.max-rounds": "2", "stages.1.mechanism.expand.0.max-rounds": "2"}
PROXY = Proxy(
    method="questa",
    expects="more groups with a right answer than without hints, and without hints a higher pass@1 and pass@64 on the "
    "hard levels; half a solution throughout transfers less than half and then a quarter",
    model="mod-chain-7",
    pool=Pool((Share("mod-chain-7", (3, 4, 5)),)),
    arms={
        "questa": Arm("questa", SMALL),
        "half": Arm("questa", {**SMALL, "stages.1.mechanism.augment.0.percent": "50"}),
        "off": Arm("questa", {**SMALL, "mechanism.augment": "", "stages.1.mechanism.augment": ""}),
        "baseline": Arm("grpo", {"scale.num-prompts": "32"}),
    },
    steps=30,
    diagnostic="group/all_wrong",
    direction="down",
    against="off",
    notes=(
        "The base does not read hints, so that they can only distract: before training it is right in 0.39 of the "
        "answers to the question alone, in 0.23 with half of the characters of a solution in the question, and in 0.37 "
        "with half of the steps, written as in its imitation, where three in ten questions had a hint. A verdict needs "
        "a base that goes on from a hint. More imitation alone is not one: after 400 steps, where half of the "
        "questions held a solution cut at any character and 15 % whole steps, the answers to levels 3 to 5 were right "
        "in 0.99 without a hint and 0.98 with one, and to level 8, longer than what was imitated, in 0.19 and 0.16.",
    ),
)
