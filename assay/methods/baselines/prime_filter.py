"""PRIME's filter of prompts alone: groups whose pass rate lies in a band train first, and others fill the step."""

from assay.credit import LeaveOneOut
from assay.recipe import Like
from assay.scale import Model

PRIME_FILTER = Like(
    "prime",
    name="prime-filter",
    claim="prompts filtered by their pass rate lower the variance of the rewards during training",
    changes={"mechanism.forwards": (), "mechanism.credit": LeaveOneOut(), "models": {"policy": Model()}},
    notes=(
        "PRIME without its process model: the filter, leave-one-out advantages of the outcome, and PRIME's values.",
        "Groups with a pass rate from 0.2 to 0.8 and no cut answer come first, in the order of their draws; others "
        "fill the step, so that its size never changes. Problems are drawn in at most four rounds.",
        "Of four answers the band keeps exactly the mixed groups; of more it discards groups that are nearly solved "
        "or nearly hopeless. A group with a cut answer comes last, which punishes length: `cut=yes` leaves that out.",
    ),
    deviations=(
        "The release samples four times the prompts at once, sorts them and throws away those beyond the batch; the "
        "sort keeps the order of the data. Here draws are random, and no more rounds are drawn than needed.",
    ),
)
