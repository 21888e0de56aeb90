"""CURE on countdown: forks at uncertain tokens against forks anywhere and against DAPO's chains."""

from __future__ import annotations

from assay.source import Pool, Share
from bench.proxy import Arm, Proxy

SCALE = {"scale.num-prompts": "16", "scale.group-size": "16"}

PROXY = Proxy(
    method="cure",
    expects="entropy stays higher than with DAPO and than with forks anywhere; pass@64 higher at equal tokens",
    model="countdown",
    pool=Pool((Share("countdown", (3, 4)),)),
    arms={
        "cure": Arm("cure", SCALE),
        "off": Arm("cure", SCALE | {"mechanism.expand.0.by": "random"}),
        "baseline": Arm("dapo", SCALE),
    },
    steps=40,
    final_samples=64,
    diagnostic="policy/entropy",
    direction="up",
    against="baseline",
)
