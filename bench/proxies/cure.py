"""CURE on countdown: forks at uncertain tokens against forks anywhere and against DAPO's chains."""

from __future__ import annotations

from assay.source import Pool, Share
from bench.proxy import Arm, Proxy

SCALE = {"scale.num-prompts": "16", "scale.group-size": "16"}
FORKS = SCALE | {"mechanism.expand.0.among": "2"}

PROXY = Proxy(
    method="cure",
    expects="entropy stays higher than with DAPO and than with forks anywhere; pass@64 higher at equal tokens",
    model="countdown",
    pool=Pool((Share("countdown", (3, 4)),)),
    arms={
        "cure": Arm("cure", FORKS),
        "off": Arm("cure", FORKS | {"mechanism.expand.0.by": "random"}),
        "baseline": Arm("dapo", SCALE),
    },
    steps=40,
    final_samples=64,
    diagnostic="policy/entropy_whole",
    direction="up",
    against="baseline",
    notes=(
        "Entropy is that of whole answers. Branches hold late tokens alone, of which any policy is surer: over all "
        "that is sampled the very first step stands at 0.40 against DAPO's 0.52, with equal weights.",
        "Of the entry's 20 most uncertain tokens 2 are left, the least among which something is drawn: answers have "
        "nine tokens, and 20 are all of them. Forks anywhere keep as much entropy: so short an answer has no place "
        "that is far from an uncertain one.",
    ),
)
