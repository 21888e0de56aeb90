"""The reference of the KL term moves towards the policy."""

from assay.memory import Follow
from assay.objective import KL
from assay.recipe import Like
from assay.scale import Model

KL_EMA = Like(
    "grpo",
    name="kl-ema",
    title="Learn Your Reference Model for Real Good Alignment",
    paper="2404.09656",
    claim="a reference that follows the policy step by step over-optimises less than a fixed one",
    changes={
        "mechanism.objective.regularise": (KL(weight=0.04, estimator="weighted-k3", anchor="reference"),),
        "mechanism.remember": (Follow(every=64, rate=0.6),),
        "models": {"policy": Model(), "reference": Model(trained=False, follows="policy")},
    },
    notes=(
        "The reference moves 0.6 of the way to the policy every 64 steps: the paper's soft update, TRL's share, and "
        "every 512 steps there, which longer runs have.",
        "--mechanism.remember.0.rate 1 takes the policy over: the hard update.",
    ),
)
