"""A token's advantage grows with the entropy of the policy where the token was sampled."""

from assay.methods.regularisers.entropy_advantage.hesitant import Hesitant
from assay.recipe import Like

ENTROPY_ADVANTAGE = Like(
    "dapo",
    name="entropy-advantage",
    title="Reasoning with Exploration: An Entropy Perspective",
    paper="2506.14758",
    claim="advantages that are larger where the policy's entropy is high make longer chains of thought: pass@k rises, "
    "at large k most of all",
    changes={"mechanism.shape": (Hesitant(share=0.4, kappa=2.0),)},
    notes=(
        "Share 0.4 and kappa 2 are those of the paper's group-relative runs; set-up and scale are DAPO's.",
        "The advantage grows by min(0.4 H, |A| / 2): tokens of right answers gain, tokens of wrong answers lose less, "
        "and no advantage changes its sign.",
        "H is the sampler's entropy when the token was drawn, and has no gradient.",
    ),
)
