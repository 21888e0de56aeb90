"""Importance weights of whole answers correct the sampler's mismatch; answers with too large a weight are masked."""

from assay.objective import Drop
from assay.objective.correct import NOTES
from assay.recipe import Like

SEQ_MIS = Like(
    "dapo",
    name="seq-mis",
    changes={"mechanism.objective.correct": (Drop(low=0.0, high=2.0, level="sequence"),)},
    title="When Speed Kills Stability: Demystifying RL Collapse from the Training-Inference Mismatch",
    paper="Liu et al. 2025",
    claim="the weight of a whole answer, and a mask for large weights: correcting each token by its own weight leaves "
    "the distribution of the tokens before it wrong",
    notes=(
        *NOTES,
        "The cap of 2 is that of its implementation in verl.",
        "At equal mismatch a token, a long answer is masked sooner than a short one. The part `reject` by geometric "
        "mean, k2 or k3 does not depend on length: correct=[{part: reject, by: geometric, low: 0.999, high: 1.001}, "
        "{part: truncate}] is Geo-RS with TIS.",
    ),
    deviations=(
        "verl takes rejected tokens out of the mask, and so out of the denominator of some aggregations.",
        "In one framework the geometric bounds apply to the inverse ratio.",
    ),
)
