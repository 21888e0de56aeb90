"""The reference policy of the KL penalty follows the policy."""

from assay.memory import Follow
from assay.objective import KL
from assay.recipe import Like
from assay.scale import Model

KL_EMA = Like(
    "grpo",
    name="kl-ema",
    title="Learn Your Reference Model for Real Good Alignment",
    paper="2404.09656",
    claim="a reference policy that follows the policy step by step over-optimises less than a fixed one",
    changes={
        "mechanism.objective.regularise": (KL(weight=0.04, estimator="weighted-k3", anchor="reference"),),
        "mechanism.remember": (Follow(every=64, rate=0.6),),
        "models": {"policy": Model(), "reference": Model(trained=False, follows="policy")},
    },
    notes=(
        "Every 64 steps the reference policy moves 0.6 of the way to the policy. That is the paper's soft update with "
        "TRL's share; TRL updates every 512 steps, for longer runs.",
        "`--mechanism.remember.0.rate 1` copies the policy: the paper's hard update.",
    ),
)
