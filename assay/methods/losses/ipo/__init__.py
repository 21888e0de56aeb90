"""The margin of a right answer over a wrong one of its group is regressed to a constant."""

from assay.methods.losses.ipo.loss import IPO as IPOLoss
from assay.objective.preference import FROM_VERDICTS
from assay.recipe import Like

IPO = Like(
    "dpo",
    name="ipo",
    title="A General Theoretical Paradigm to Understand Learning from Human Preferences",
    paper="2310.12036",
    claim="a margin that is regressed to a constant does not grow without bound where preferences are certain",
    changes={"mechanism.objective.whole": IPOLoss(tau=0.1)},
    notes=(
        *FROM_VERDICTS,
        "The log-ratios are means over tokens, as behind the published numbers; the paper's formula has sums. The "
        "target margin is 1 / (2 tau) = 5 nats a token, far more than pairs from verdicts reach, so that the loss "
        "never saturates.",
        "The loss that prime-rl calls ipo is a mask by probability difference, another method.",
    ),
)
