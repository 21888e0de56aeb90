"""GRPO with the estimator of the KL term whose gradient is right."""

from assay.objective import KL
from assay.recipe import Like

KL_REFERENCE = Like(
    "grpo",
    name="kl-reference",
    changes={"mechanism.objective.regularise": (KL(weight=0.04, estimator="weighted-k3", anchor="reference"),)},
    title="On a few pitfalls in KL divergence gradient estimation for RL",
    paper="2506.09477",
    claim="GRPO's term does not have the gradient of the KL that it reports; weighted by the ratio it has, off policy "
    "too",
    notes=(
        "GRPO with all its values and another estimator: the default of `kl`. The others are there by name, k2 is "
        "right on policy, k3 is GRPO's.",
        "Where the reference is fixed the optimum is ref exp(R / weight) / Z: the odds of a right answer rise by at "
        "most exp(1 / weight).",
    ),
    deviations=(
        "TRL, verl: k3 without the ratio by default. Its gradient is that of KL(reference, policy).",
        "verl holds k3 in [-10, 10] and OpenRLHF every estimator: beyond, the gradient is 0 where the pull is needed "
        "most.",
        "NeMo-RL multiplies by exp(log pi - sg[log pi]), the ratio of a policy that has not moved.",
    ),
)
