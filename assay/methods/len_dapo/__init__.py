"""Answers that the limit cut do not train, in the place of DAPO's soft punishment."""

from assay.curate import FirstGroups, MixedGroups
from assay.methods.len_dapo.whole import WholeAnswers
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
        "DAPO with overlong filtering in the place of the soft punishment. The paper's table adds the punishment two "
        "rows after the filter and does not say whether the filter stays.",
        "A truncated answer leaves the denominator and stays in its group's statistics. What stopped by itself at the "
        "limit is whole.",
        "Endless repetition is not punished either.",
        "The claim is the first step of the paper's table 1: it adds the filter to GRPO, not to all of DAPO.",
    ),
)
