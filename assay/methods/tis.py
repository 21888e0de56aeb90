"""What is learnt by other numbers than it was sampled with: a weight for the mismatch, on a method otherwise known."""

from assay.objective import Drop, Truncate
from assay.recipe import Like

NOTES = (
    "The correction is the source's; the set-up is DAPO's, with its scale.",
    "Here sampler and learner share weights and nearly agree: rho leaves 1 with top_p, top_k or min_p, with an "
    "adapter in lower precision, or behind a follower (`areal`). policy/sampler_mismatch and "
    "policy/correction_effective say by how much.",
    "The learner's own log-probs are scored before the first update, also where one update is all there is.",
    "Tokens that are taken out stay in the denominator; terms beside the policy's are not weighed.",
)


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

ICEPOP = Like(
    "dapo",
    name="icepop",
    changes={"mechanism.objective.correct": (Drop(low=0.5, high=5.0),)},
    title="Every Step Evolves: Scaling Reinforcement Learning for Trillion-Scale Thinking Model",
    paper="2510.18855",
    claim="tokens out on which sampler and learner disagree: no collapse on mixtures of experts of up to a trillion",
    notes=(
        *NOTES,
        "The range of 0.5 to 5 is the one of its authors. A range that masks less and less may hide a gap that grows.",
    ),
    deviations=(
        "OpenRLHF and NeMo-RL keep untruncated weights within the range, as here; a comment there says capped.",
    ),
)

SEQ_MIS = Like(
    "dapo",
    name="seq-mis",
    changes={"mechanism.objective.correct": (Drop(low=0.0, high=2.0, level="sequence"),)},
    title="When Speed Kills Stability: Demystifying RL Collapse from the Training-Inference Mismatch",
    paper="Liu et al. 2025",
    claim="the weight of a whole answer, and answers out where it is large: the correction of a token's weight leaves "
    "the distribution of its beginnings wrong",
    notes=(
        *NOTES,
        "The cap of 2 is the one of its implementation in verl.",
        "At equal drift a long answer is out sooner than a short one. `reject` by geometric mean, k2 or k3 does not "
        "know length: correct=[{part: reject, by: geometric, low: 0.999, high: 1.001}, {part: truncate}] is Geo-RS "
        "with TIS.",
    ),
    deviations=(
        "verl takes what is rejected out of the mask, and so out of the denominator of some aggregations.",
        "One framework's geometric bounds are those of the inverse ratio.",
    ),
)
