"""DeepSearch on countdown with four numbers, of which the base solves some 3 %: search against independent answers."""

from __future__ import annotations

from assay.source import Pool, Share
from bench.proxy import Arm, Proxy

SCALE = {"scale.num-prompts": "64", "scale.group-size": "8"}
SEARCH = SCALE | {"mechanism.ask.1.depth": "8"}

PROXY = Proxy(
    method="deepsearch",
    expects="more prompts with a right row than chains at equal tokens, and accuracy rises where chains are stuck",
    model="countdown",
    pool=Pool((Share("countdown", (4,)),)),
    arms={
        "deepsearch": Arm("deepsearch", SEARCH),
        "off": Arm("deepsearch", SCALE | {"mechanism.ask.1.depth": "1"}),
        "baseline": Arm("grpo", SCALE),
    },
    steps=30,
    diagnostic="group/all_wrong",
    direction="down",
    against="off",
    notes=(
        "The entry has chains that the base solves at 3 %. The base of chains knows those modulo 7, where no level is "
        "that hard, since a guess is right one time in seven, and where a run ended below its base: of four endings to "
        "a wrong chain 46 % hold a right one, the search keeps that one, and values below zero are overwritten on the "
        "way up. At the start 14 % of the kept answers with a wrong step were right, of independent ones 7 %.",
        "Countdown with four numbers is solved at 3 % and has no guesses. A step is three characters, a number with "
        "its operator.",
        "Both arms of the recipe work in rounds on what the policy does not solve; steps that examine count as steps.",
        "The width is the recipe's, eight children a node. A run has 1792 groups, so that the standard error of a "
        "difference in the share without a right row is 0.016. With four children and 448 groups it was 0.03, as large "
        "as what the search gained: down in two of three seeds. So it is now, by 0.015 on average: on this task search "
        "finds a right row for hardly more problems than eight independent answers do, and writes 3.4 times as many "
        "tokens for them. At equal tokens independent answers find more: sixteen of the base hold a right one for more "
        "than half of the problems.",
    ),
)
