"""Each token is weighted by pi_old / mu, its probability under the learner over that under the sampler, up to a cap."""

from assay.objective import Truncate
from assay.objective.correct import NOTES
from assay.recipe import Like

TIS = Like(
    "dapo",
    name="tis",
    changes={"mechanism.objective.correct": (Truncate(cap=2.0),)},
    title="Your Efficient RL Framework Secretly Brings You Off-Policy RL Training",
    paper="FlashRL 2025",
    claim="with truncated importance weights answers that were sampled in 8 bits train as well as those in 16; "
    "without, training breaks",
    notes=(
        *NOTES,
        "The cap of 2 is that of the authors' examples; 1.5 to 5 are in use. level=sequence is seq-TIS, with caps of "
        "2 to 10; normalise=yes divides by the mean weight.",
    ),
    deviations=(
        "TRL's default is another method: it masks answers whose product of ratios is above 3.",
        "Most trainers can count only the tokens that a mask leaves, and then take larger steps the more they mask.",
    ),
)
