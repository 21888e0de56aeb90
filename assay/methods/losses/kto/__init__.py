"""Right and wrong answers are learnt without pairs, relative to the level of mismatched answers."""

from assay.curate import TrainAt
from assay.methods.losses.kto.loss import KTO as KTOLoss
from assay.methods.losses.kto.mismatch import Mismatch
from assay.objective.preference import FROM_VERDICTS
from assay.recipe import Like

KTO = Like(
    "dpo",
    name="kto",
    title="KTO: Model Alignment as Prospect Theoretic Optimization",
    paper="2402.01306",
    claim="labels without pairs are as good as preferences from 1B to 30B parameters",
    changes={
        "mechanism.curate": (TrainAt(temperature=1.0), Mismatch()),
        "mechanism.objective.whole": KTOLoss(beta=0.1, balance=1.0),
    },
    notes=(
        *FROM_VERDICTS,
        "Groups that are all wrong or all right teach too.",
        "The level z is the mean over all answers, each put under another question of the step; the mismatched rows "
        "do not train.",
        "The paper sets the weights of right and wrong answers so that the ratio of their totals over its data "
        "set is from 1:1 to 4/3:1. Here right and wrong answers are counted in every optimiser step, because their "
        "shares depend on the policy.",
    ),
    deviations=("In some implementations a batch of one uses the row's own reward as the level.",),
)
