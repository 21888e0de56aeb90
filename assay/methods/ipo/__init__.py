"""The lead of a right answer over a wrong one is regressed to a constant."""

from assay.methods.ipo.loss import IPO as IPOLoss
from assay.objective.preference import FROM_VERDICTS
from assay.recipe import Like

IPO = Like(
    "dpo",
    name="ipo",
    title="A General Theoretical Paradigm to Understand Learning from Human Preferences",
    paper="2310.12036",
    claim="a margin that is regressed does not run away where preferences are certain",
    changes={"mechanism.objective.whole": IPOLoss(tau=0.1)},
    notes=(
        *FROM_VERDICTS,
        "Means over tokens are the form behind the published numbers; the formula prints sums. The margin goes to "
        "1 / (2 tau) = 5 nats a token, far beyond what verdict pairs allow: it never saturates.",
        "What prime-rl calls ipo is a mask by probability difference, another method.",
    ),
)
