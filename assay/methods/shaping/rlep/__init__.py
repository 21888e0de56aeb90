"""Training starts again from the base model, with right answers of the first run replayed in each group."""

import dataclasses

from assay.credit import GroupRelative
from assay.methods.shaping.rlep.replay import Replay
from assay.methods.shaping.rlep.successes import KeepSuccesses
from assay.objective import Clip, Objective, TokenMean
from assay.recipe import Mechanism, Recipe, Stage
from assay.reward import Outcome, SoftOverlong
from assay.scale import Scale
from assay.source import Epochs

EXPERIENCE = Mechanism(
    source=Epochs(size=2048),
    reward=(Outcome(right=1.0, wrong=-1.0), SoftOverlong(buffer=512, factor=1.0)),
    credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
    objective=Objective(gate=Clip(low=0.2, high=0.28, dual=10.0), aggregate=TokenMean()),
    remember=(KeepSuccesses(most=4),),
)
REPLAY = dataclasses.replace(EXPERIENCE, ask=(Replay(num=2),), remember=())

RLEP = Recipe(
    name="rlep",
    title="RLEP: Reinforcement Learning with Experience Replay for LLM Reasoning",
    paper="2507.07451",
    claim="restarted from the base model with two old right answers in each group, training reaches the former best "
    "in a third of the steps and passes it: AIME24 38.2 to 39.9, AIME25 19.8 to 22.3, AMC23 77.0 to 82.2",
    mechanism=REPLAY,
    scale=Scale(
        num_prompts=512,
        group_size=16,
        max_new=3072,
        learning_rate=1e-6,
        num_steps=800,
        num_minibatches=8,
        warmup_steps=80,
        weight_decay=0.1,
    ),
    stages=(
        Stage("experience", mechanism=EXPERIENCE),
        Stage("replay", start="base", optimiser="reset", memory="keep"),
    ),
    notes=(
        "Values are those of the published script; two phases of 400 steps, the number of problems and 4 stored "
        "answers a problem are ours.",
        "Replayed answers count in the statistics of their group and train as if the current policy had sampled them: "
        "their ratio starts at 1, however unlikely they are.",
        "If all fresh answers are wrong, the replayed ones give them negative advantages.",
    ),
    deviations=(
        "Right answers are stored while the first policy trains, the newest of each problem; the paper samples them "
        "from that policy after it has converged.",
        "The group of a problem without stored answers is smaller; the published loader fills it with empty answers.",
    ),
)
