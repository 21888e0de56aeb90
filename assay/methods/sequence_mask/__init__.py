"""Wrong answers that the policy has left do not train, and the KL term is unbiased off policy."""

from assay.credit import GroupRelative
from assay.methods.sequence_mask.followed import Followed
from assay.objective import KL, Clip, Objective, SequenceMean
from assay.recipe import Mechanism, Recipe
from assay.scale import Scale

SEQUENCE_MASK = Recipe(
    name="sequence-mask",
    title="DeepSeek-V3.2: Pushing the Frontier of Open Large Language Models",
    paper="2512.02556",
    claim="stable at large scale: wrong answers that the policy has left do not train, and the KL term is unbiased off "
    "policy",
    missing="what the report does to routers and to truncated sampling, and its model",
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
        "The mean log-prob of an answer is compared with what its sampler said, so that the gap between sampler and "
        "learner counts. Masked answers stay in the denominator.",
        "The KL term is k3 times the ratio to the policy before the step, with the gradient through both: that of "
        "KL(policy, reference), where k3 alone has that of KL(reference, policy).",
        "What the report does to routers and to truncated sampling is not here: there is nothing to route.",
    ),
    deviations=("TRL, verl: k3 without the ratio unless an option is set.",),
)
