"""Answers grow segment by segment and split in two; each is compared with the answers that share its beginnings."""

from assay.collect import Refill
from assay.credit import Whiten
from assay.methods.baselines.treepo.credit import AncestorMeans
from assay.methods.baselines.treepo.widen import FirstSplit, Widen
from assay.recipe import Like
from assay.reward import Outcome, SoftOverlong

TREEPO = Like(
    "dapo",
    name="treepo",
    title="TreePO: Bridging the Gap of Policy Optimization and Efficacy and Inference Efficiency with Heuristic "
    "Tree-based Modeling",
    paper="2508.17445",
    claim="trees of segments with shared beginnings, and credit by the groups of all ancestors: 22 to 43% of the GPU "
    "hours of sampling saved at equal or better scores",
    missing="early stops of answers that repeat themselves, and the preference for places by log-probability",
    changes={
        "mechanism.ask": (FirstSplit(fewest=2, most=8, depth=14, least=4),),
        "mechanism.expand": (Widen(branches=2), Refill(max_rounds=10)),
        "mechanism.reward": (Outcome(right=1.0, wrong=-1.0), SoftOverlong(buffer=512, factor=1.0)),
        "mechanism.credit": AncestorMeans(weigh="depth"),
        "mechanism.shape": (Whiten(by="batch", ddof=1, epsilon=1e-8),),
        "scale.max_new": 7168,
    },
    notes=(
        "Fourteen segments of 512 tokens, two to eight first segments, two branches after each, 16 leaves, the mean "
        "over depths, filter, loss and scale are those of the published script. ddof and epsilon of the whitening are "
        "those of its framework.",
        "A path that ends early leaves its branches to those that go on. Where all have ended before there are enough "
        "leaves, ended answers are cut at the end of a random segment and go on from there; such an answer may be "
        "cut at its beginning.",
        "Every leaf trains whole, so that a shared beginning trains once for each of its leaves, each time with the "
        "advantage of that leaf.",
        "Whitening centres again what the means of ancestors have centred.",
        "Where the limit is so low that a segment would have fewer than 4 tokens, an answer has fewer segments, at "
        "least two; that bound (mechanism.ask.0.least) is ours.",
    ),
)
