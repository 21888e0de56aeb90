"""GRPO with an estimator of the KL penalty whose gradient is right."""

from assay.objective import KL
from assay.recipe import Like

KL_REFERENCE = Like(
    "grpo",
    name="kl-reference",
    changes={"mechanism.objective.regularise": (KL(weight=0.04, estimator="weighted-k3", anchor="reference"),)},
    title="On a few pitfalls in KL divergence gradient estimation for RL",
    paper="2506.09477",
    claim="GRPO's KL term does not have the gradient of the KL that it reports; weighted by the importance ratio it "
    "has, off policy too",
    notes=(
        "GRPO with all its values, and another estimator of the KL penalty: the default of the part `kl`. The other "
        "estimators can be named: k2 has the right gradient on policy, k3 is GRPO's.",
        "With a fixed reference policy the optimum is ref exp(R / weight) / Z: the odds of a right answer rise by at "
        "most a factor exp(1 / weight).",
    ),
    deviations=(
        "TRL, verl: k3 without the ratio by default. Its gradient is that of KL(reference, policy).",
        "verl clamps k3 to [-10, 10], and OpenRLHF clamps every estimator: beyond the bound the gradient is 0, where "
        "the penalty is needed most.",
        "NeMo-RL multiplies by exp(log pi - sg[log pi]), which is the ratio only of a policy that has not moved.",
    ),
)
