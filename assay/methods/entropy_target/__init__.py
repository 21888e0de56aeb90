"""An entropy bonus acts below a target alone, and its weight is kept between steps."""

from assay.credit import GroupRelative
from assay.curate import MixedGroups
from assay.methods.entropy_target.adapt import AdaptEntropy
from assay.methods.entropy_target.weight import EntropyWeight
from assay.objective import Clip, Entropy, Objective, TokenMean
from assay.recipe import Mechanism, Recipe
from assay.scale import Scale

ENTROPY_TARGET = Recipe(
    name="entropy-target",
    title="Skywork Open Reasoner 1 Technical Report",
    paper="2505.22312",
    claim="an entropy bonus that acts only below a target keeps the policy from collapsing early: 15.0 points over the "
    "model of 32B that it starts from",
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
        "Target 0.2 nats and step 0.005 are the report's, as are the token mean, the filter for mixed groups, no KL, "
        "and one update a rollout; the bound of 1 on the weight is ours. The scale is its first stage's of 8k tokens.",
        "The weight begins at 0. Above the target it falls and is not applied; at or below it, it is that of the step "
        "before. The entropy is that of the tokens as they were sampled.",
        "A target of 0.2 is low for short answers over small vocabularies: look at policy/entropy before you set it.",
    ),
    deviations=(
        "TRL averages the bonus over tokens whatever the loss does; OpenRLHF and verl by the loss's aggregation, as "
        "here.",
    ),
)
