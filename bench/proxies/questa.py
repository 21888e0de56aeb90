"""The beginning of a solution in the question: half, then a quarter, then examined without."""

import dataclasses

from assay.methods.questa.partial_solution import CutAnywhere
from assay.run.bases import BASES
from assay.source import Pool, Share
from bench.proxy import Arm, Proxy

BASE = dataclasses.replace(
    BASES["countdown"],
    name="countdown-hinted",
    summary="expressions that reach a target, some with the beginning of one in the prompt, cut anywhere",
    ask=(CutAnywhere(share=0.4),),
)
BASES[BASE.name] = BASE

SMALL = {"scale.num-prompts": "32", "mechanism.expand.0.max-rounds": "2", "stages.1.mechanism.expand.0.max-rounds": "2"}
HINTS = SMALL | {"mechanism.ask.0.least": "1", "stages.1.mechanism.ask.0.least": "1"}
PROXY = Proxy(
    method="questa",
    expects="more groups with a right answer than without hints, and without hints a higher pass@1 and pass@64 on the "
    "hard levels; half a solution throughout transfers less than half and then a quarter",
    model=BASE.name,
    pool=Pool((Share("countdown", (4,)),)),
    arms={
        "questa": Arm("questa", HINTS),
        "half": Arm("questa", {**HINTS, "stages.1.mechanism.ask.0.percent": "50"}),
        "off": Arm("questa", {**SMALL, "mechanism.ask": "", "stages.1.mechanism.ask": ""}),
        "baseline": Arm("grpo", {"scale.num-prompts": "32"}),
    },
    steps=30,
    diagnostic="group/all_wrong",
    direction="down",
    against="off",
    notes=(
        "A verdict needs a base that goes on from a hint and is the better for it. Bases of chains are not: they learn "
        "to copy when they learn to count. Of countdown's expressions this one, of whose questions in imitation four "
        "in ten held a beginning cut at any character, finishes what it is given: right in 0.21 of its answers with "
        "three numbers without a hint, in 0.27 with a quarter and in 0.63 with half of an expression; with four in "
        "0.05, 0.08 and 0.19.",
        "least is 1: a quarter of an expression has two characters.",
    ),
)
