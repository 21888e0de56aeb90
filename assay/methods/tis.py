"""Each token is weighed by pi_old / mu, what the learner thinks of it over what the sampler did, held at a cap."""

from assay.objective import Truncate
from assay.objective.correct import NOTES
from assay.recipe import Like

TIS = Like(
    "dapo",
    name="tis",
    changes={"mechanism.objective.correct": (Truncate(cap=2.0),)},
    title="Your Efficient RL Framework Secretly Brings You Off-Policy RL Training",
    paper="FlashRL 2025",
    claim="with a truncated weight answers that were sampled in 8 bits train as well as those in 16; without, it "
    "breaks",
    notes=(
        *NOTES,
        "The cap of 2 is the one of its examples; 1.5 to 5 are in use. level=sequence is seq-TIS, with caps of 2 to "
        "10; normalise=yes divides by the mean weight.",
    ),
    deviations=(
        "TRL's default is another method: answers out whose product of ratios is above 3.",
        "Most trainers can count the tokens anew that a mask has left, and so take larger steps the more they mask.",
    ),
)
