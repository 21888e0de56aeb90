"""Groups begin at the shortest expert prefix that succeeds sometimes."""

from assay.methods.bread.anchors import AnchorSearch
from assay.methods.bread.curate import OnAnchor
from assay.recipe import Like
from assay.scale import Scale

BREAD = Like(
    "grpo",
    name="bread",
    title="BREAD: Branched Rollouts from Expert Anchors Bridge SFT & RL for Reasoning",
    paper="2506.17211",
    claim="from the shortest expert prefix that succeeds sometimes, GRPO solves problems that SFT and RL cannot, with "
    "fewer than 40% of the traces and about three times faster training than GRPO",
    changes={
        "mechanism.expand": (AnchorSearch(pieces=10, low=0.25, high=0.75, probes=4),),
        "mechanism.curate": (OnAnchor(low=0.25, high=0.75),),
        "scale": Scale(num_prompts=64, group_size=8, max_new=1024, learning_rate=1e-6, num_steps=500),
    },
    notes=(
        "The loss is GRPO's; what is conditioned on is the question and the prefix, which itself does not train.",
        "The band [2/8, 0.75], at most 4 probes, and the fall-backs (the hardest prefix with any success, else the "
        "problem is skipped) are ours: no code is published. So is the scale.",
        "Every probe is on the budget.",
    ),
    deviations=(),
)
