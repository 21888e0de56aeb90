"""Wrong answers from which the policy has moved away are masked, and the KL penalty is unbiased off policy."""

from assay.credit import GroupRelative
from assay.methods.gates.sequence_mask.followed import Followed
from assay.objective import KL, Clip, Objective, SequenceMean
from assay.recipe import Mechanism, Recipe
from assay.scale import Scale

SEQUENCE_MASK = Recipe(
    name="sequence-mask",
    title="DeepSeek-V3.2: Pushing the Frontier of Open Large Language Models",
    paper="2512.02556",
    claim="stable at large scale: wrong answers from which the policy has moved away are masked, and the KL penalty "
    "is unbiased off policy",
    missing="the report's changes to routers and to truncated sampling, and its model",
    mechanism=Mechanism(
        credit=GroupRelative(scale="none"),
        objective=Objective(
            gate=Clip(low=0.2, high=0.2),
            keep=(Followed(most=0.5),),
            aggregate=SequenceMean(),
            regularise=(KL(weight=0.001, estimator="weighted-k3"),),
        ),
    ),
    scale=Scale(num_prompts=128, group_size=8, max_new=8192, learning_rate=1e-6, num_steps=500, num_minibatches=4),
    notes=(
        "Mask and KL are the report's, which states none of the numbers: 0.5 is what TRL proposes for the mask; clip, "
        "weight of the KL and the whole scale are ours.",
        "The mean log-prob of an answer is compared with the sampler's, so that the mismatch between sampler and "
        "learner counts too. Masked answers stay in the denominator.",
        "The KL term is k3 times the ratio to the policy before the step, with a gradient through both. Its gradient "
        "is that of KL(policy, reference), while that of k3 alone is KL(reference, policy)'s.",
        "The report's changes to routers and to truncated sampling are not here, because no model here has routers.",
    ),
    deviations=("TRL, verl: k3 without the ratio unless an option is set.",),
)
