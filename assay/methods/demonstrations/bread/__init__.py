"""A failed group begins again from the shortest expert prefix with which the policy sometimes succeeds."""

from assay.methods.demonstrations.bread.anchors import AnchorSearch
from assay.methods.demonstrations.bread.curate import OnAnchor
from assay.recipe import Like
from assay.scale import Scale

BREAD = Like(
    "grpo",
    name="bread",
    title="BREAD: Branched Rollouts from Expert Anchors Bridge SFT & RL for Reasoning",
    paper="2506.17211",
    claim="from the shortest expert prefix with which the policy sometimes succeeds, GRPO solves problems that SFT "
    "and RL cannot, with fewer than 40% of the traces and about three times faster training than GRPO",
    changes={
        "mechanism.expand": (AnchorSearch(pieces=10, low=0.25, high=0.75, probes=4),),
        "mechanism.curate": (OnAnchor(low=0.25, high=0.75),),
        "scale": Scale(num_prompts=64, group_size=8, max_new=1024, learning_rate=1e-6, num_steps=500),
    },
    notes=(
        "The loss is GRPO's. The policy answers the question and the prefix; the prefix itself does not train.",
        "The band [2/8, 0.75] of pass rates, at most 4 probes, and the fall-backs are ours, because no code is "
        "published; so is the scale. The fall-backs: train from the hardest prefix with any success, else skip the "
        "problem.",
        "The tokens of every probe count towards the budget.",
    ),
    deviations=(),
)
