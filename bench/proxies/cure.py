"""CURE on countdown: forks at uncertain tokens against forks anywhere and against DAPO's chains.

Entropy is that of whole answers: branches have late tokens alone, of which the policy is surer, so that over everything
sampled the very first step, with equal weights, stands at 0.40 against 0.52. The 20 uncertain tokens from which a place
is drawn are 2 here, the least that leaves something to draw: of answers of nine tokens, 20 are all.
"""

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
)
