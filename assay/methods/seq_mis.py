"""The weight of the mismatch is that of the whole answer, and answers whose weight is too large do not train."""

from assay.objective import Drop
from assay.objective.correct import NOTES
from assay.recipe import Like

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
