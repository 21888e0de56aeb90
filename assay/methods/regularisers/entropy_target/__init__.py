"""An entropy bonus acts only while the entropy is at or below a target, and its weight adapts from step to step."""

from assay.credit import GroupRelative
from assay.curate import MixedGroups
from assay.methods.regularisers.entropy_target.adapt import AdaptEntropy
from assay.methods.regularisers.entropy_target.weight import EntropyWeight
from assay.objective import Clip, Entropy, Objective, TokenMean
from assay.recipe import Mechanism, Recipe
from assay.scale import Scale

ENTROPY_TARGET = Recipe(
    name="entropy-target",
    title="Skywork Open Reasoner 1 Technical Report",
    paper="2505.22312",
    claim="an entropy bonus that acts only below a target keeps the policy from collapsing early: 15.0 points over "
    "the 32B model that it starts from",
    missing="the report's later stages, with longer answers",
    mechanism=Mechanism(
        curate=(MixedGroups(by="accuracy"),),
        forwards=(EntropyWeight(),),
        credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
        objective=Objective(gate=Clip(low=0.2, high=0.2), aggregate=TokenMean(), regularise=(Entropy(weight=1.0),)),
        remember=(AdaptEntropy(target=0.2, step=0.005, most=1.0),),
    ),
    scale=Scale(num_prompts=256, group_size=16, max_new=8192, learning_rate=1e-6, num_steps=500),
    notes=(
        "The target of 0.2 nats and the step of 0.005 are the report's, and so are the token mean, the filter for "
        "mixed groups, no KL penalty, and one update a rollout. The bound of 1 on the weight is ours. The scale is "
        "that of the report's first stage, with answers of 8k tokens.",
        "The weight of the bonus begins at 0. While the entropy is above the target, the weight falls and the bonus "
        "is off; at or below the target, the bonus has the weight of the step before. The entropy is that of the "
        "policy when it sampled.",
        "A target of 0.2 is low for short answers over a small vocabulary: look at policy/entropy before you set it.",
    ),
    deviations=(
        "TRL averages the bonus over tokens whatever the aggregation of the loss; OpenRLHF and verl use the loss's "
        "aggregation, as here.",
    ),
)
