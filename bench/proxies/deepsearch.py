"""DeepSearch on countdown with four numbers, of which the base solves some 3 %: search against independent answers.

The entry's chains would be modulo 7 here, and there is a base for those alone: a guess is right one time in seven, so
that no level is solved at 3 %, and of four endings to a wrong chain 46 % hold a right one. The search keeps that one, and
a right answer below zero overwrites the values above it. Countdown has no guesses. A step is three characters, a number
with its operator.
"""

from __future__ import annotations

from assay.source import Pool, Share
from bench.proxy import Arm, Proxy

SCALE = {"scale.num-prompts": "16", "scale.group-size": "8"}
SEARCH = SCALE | {"mechanism.augment.1.depth": "8", "mechanism.augment.1.width": "4"}

PROXY = Proxy(
    method="deepsearch",
    expects="more prompts with a right row than chains at equal tokens, and accuracy rises where chains are stuck",
    model="countdown",
    pool=Pool((Share("countdown", (4,)),)),
    arms={
        "deepsearch": Arm("deepsearch", SEARCH),
        "off": Arm("deepsearch", SCALE | {"mechanism.augment.1.depth": "1"}),
        "baseline": Arm("grpo", SCALE),
    },
    steps=30,
    diagnostic="group/all_wrong",
    direction="down",
    against="off",
)
