"""Answers that the limit cut do not train; this replaces DAPO's soft penalty for overlong answers."""

from assay.curate import FirstGroups, MixedGroups, WholeAnswers
from assay.recipe import Like
from assay.reward import Outcome

LEN_DAPO = Like(
    "dapo",
    name="len-dapo",
    claim="leaving truncated answers out of the loss: 36 in place of 30 on AIME 2024",
    changes={
        "mechanism.reward": (Outcome(right=1.0, wrong=-1.0),),
        "mechanism.curate": (MixedGroups(by="accuracy"), FirstGroups(), WholeAnswers()),
    },
    notes=(
        "DAPO with overlong filtering in place of the soft penalty. The paper's table adds the penalty two rows after "
        "the filter and does not say whether the filter stays.",
        "A truncated answer leaves the denominator, but counts in its group's statistics. An answer that ends by "
        "itself at the limit is not truncated.",
        "Endless repetition, cut by the limit, gets no penalty either.",
        "The claim is a step of the paper's table 1, which adds the filter to GRPO, not to all of DAPO.",
    ),
)
