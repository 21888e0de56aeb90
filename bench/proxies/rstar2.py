from assay.source import Pool, Share
from bench.proxy import Arm, Proxy

SIZE = {"scale.num-prompts": "16", "scale.group-size": "16"}
ALL = {"mechanism.curate": "mixed-groups"}

PROXY = Proxy(
    method="rstar2",
    expects="fewer tool errors in right answers, and shorter ones, at equal or better success",
    model="lookup-strict",
    pool=Pool((Share("lookup-strict", (3, 4)),)),
    arms={
        "rstar2": Arm("rstar2", {**SIZE, "mechanism.curate.1.keep": "8"}),
        "off": Arm("rstar2", {**SIZE, **ALL}),
        "baseline": Arm("dapo", {"scale.num-prompts": "32", "scale.group-size": "8", "scale.num-steps": "15"}),
    },
    steps=30,
    diagnostic="replies/failed_right",
    direction="down",
    against="off",
    notes=(
        "The diagnostic cannot move here. Which calls fail is part of a question, by their number in an answer, so "
        "that all right answers to it meet the same errors: before training the penalties of right answers differ "
        "within none of the groups, no right answer holds a faulty call of its own, and the choice of the cleanest is "
        "a draw at random. What is left of the difference is which questions are answered rightly. A verdict needs a "
        "tool whose errors an answer can avoid.",
    ),
)
