"""Right and wrong answers are learnt without pairs, around the level of mismatched ones."""

from assay.curate import TrainAt
from assay.methods.kto.loss import KTO as KTOLoss
from assay.methods.kto.mismatch import Mismatch
from assay.objective.preference import FROM_VERDICTS
from assay.recipe import Like

KTO = Like(
    "dpo",
    name="kto",
    title="KTO: Model Alignment as Prospect Theoretic Optimization",
    paper="2402.01306",
    claim="labels without pairs match preferences from 1B to 30B parameters",
    changes={
        "mechanism.curate": (TrainAt(temperature=1.0), Mismatch()),
        "mechanism.objective.whole": KTOLoss(beta=0.1, balance=1.0),
    },
    notes=(
        *FROM_VERDICTS,
        "Groups that are all wrong or all right teach too.",
        "The level is the mean over all answers put under another question of the step; no such answer is trained.",
        "The paper sets the weights of the two kinds so that their totals are 1 to 4/3 to 1, over its data; here the "
        "kinds are counted in every optimiser step, because their shares are those of verdicts.",
    ),
    deviations=("The level of a batch of one is the row's own reward in some implementations.",),
)
