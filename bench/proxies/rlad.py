"""Abstractions: a proposer and a solver, in rounds or online, against answers without any."""

from assay.ask.hints import Hinted
from assay.methods.rlad.abstract import TeachAbstractions
from assay.run.bases import BASES, Base, imitation, small_shape
from assay.source import Pool, Share
from bench.proxy import Arm, Proxy

BASE = Base(
    name="mod-chain-7-abstractions",
    summary="the same chains, and for the question with a mark behind it the first steps alone; for two players",
    shape=small_shape(hidden=96, layers=3, heads=4, ffn=288, context=128),
    pool=Pool((Share("mod-chain-7", (2, 3, 4, 5, 6)),)),
    scale=imitation(num_steps=260, learning_rate=2e-3),
    ask=(Hinted(share=0.3), TeachAbstractions(share=0.3)),
)
BASES[BASE.name] = BASE

SMALL = {"scale.num-prompts": "16", "scale.group-size": "16"}
# Two steps of a chain and the end. What the base writes is often longer, and cut within a step it misleads: there is
# something for the proposer to learn. Of three tokens, by a base that never wrote one, no abstraction helped anybody.
HINTS = {**SMALL, "mechanism.ask.0.longest": "12"}
PROXY = Proxy(
    method="rlad-two",
    expects="abstractions become useful to the solver: accuracy with them rises above that of a solver that reads "
    "abstractions nobody trains; answers without any are no worse than with plain RL",
    model=BASE.name,
    pool=Pool((Share("mod-chain-7", (3, 4, 5)),)),
    arms={
        "rlad-two": Arm("rlad-two", HINTS),
        "rlad-hierarchical": Arm("rlad-hierarchical", HINTS),
        "rlad-joint": Arm("rlad-joint", SMALL),
        "rlad": Arm("rlad", {**HINTS, "stages.1.mechanism.ask.0.longest": "12"}),
        "off": Arm("rlad-two", {**HINTS, "mechanism.curate": "untrained"}),  # the proposer never learns
        "baseline": Arm("grpo", SMALL),
    },
    steps=30,
    diagnostic="reward/usefulness",
    direction="up",
    against="off",
    notes=(
        "Abstractions become useful, in good part because the proposer learns not to write what its limit cuts. "
        "Answers without any become worse than with plain RL, against what is expected: the base is right in 0.95 of "
        "them and has nowhere to go.",
    ),
)
