"""Advantages are larger where the policy hesitated."""

from assay.methods.entropy_advantage.hesitant import Hesitant
from assay.recipe import Like

ENTROPY_ADVANTAGE = Like(
    "dapo",
    name="entropy-advantage",
    title="Reasoning with Exploration: An Entropy Perspective",
    paper="2506.14758",
    claim="advantages that are larger where the policy hesitates make longer chains of thought: pass@k rises, at "
    "large k most of all",
    changes={"mechanism.shape": (Hesitant(share=0.4, kappa=2.0),)},
    notes=(
        "Share 0.4 and kappa 2 are the paper's for its group-relative runs; the set-up is DAPO's, with its scale.",
        "min(0.4 H, |A| / 2) is added: right tokens gain, wrong ones lose less, and none changes sign.",
        "H is that of the sampler when the token was drawn, and has no gradient.",
    ),
)
