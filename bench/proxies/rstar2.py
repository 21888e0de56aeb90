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
        "Every error of this task can be avoided: a call fails that has a capital, and the base imitates answers in "
        "which half the steps begin with one. In the first step of the three seeds a third of the replies in right "
        "answers are errors, and right answers differ in them within 48 of 48 groups. On lookup-faulty, whose errors "
        "belong to the question, they do within 2 of 46: elsewhere the choice of the cleanest is a draw at random.",
        "No other arm prefers either spelling. An error is also four tokens more, so that the method's answers become "
        "shorter and it takes more steps for the same tokens. The off arm trains on all 16 answers, the method on 8; "
        "16 sampled and 8 of them kept at random was not run.",
        "The baseline stops after 15 steps, where it has generated more than the method in 30.",
    ),
)
