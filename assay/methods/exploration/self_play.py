"""Self-play compared within groups: the answers of one seat to the same deal are a group. One policy plays both seats,
or each seat has parameters of its own.
"""

import dataclasses

from assay.credit import GroupRelative
from assay.objective import Clip, Objective, TokenMean
from assay.recipe import Mechanism, Recipe
from assay.scale import Model, Scale

SELF_PLAY = Recipe(
    name="self-play",
    title="Self-play compared within groups",
    paper="-",
    claim="-: games of a group begin alike, so that luck at the deal is in no advantage",
    tasks=("game:kuhn", "game:nim"),
    mechanism=Mechanism(
        credit=GroupRelative(scale="none"),
        objective=Objective(gate=Clip(low=0.2, high=0.2), aggregate=TokenMean()),
    ),
    scale=Scale(num_prompts=16, group_size=8, max_new=4096, learning_rate=1e-6, num_steps=400, schedule="constant"),
    notes=(
        "There is no paper: this is the advantage of Dr. GRPO (2503.20783) for each seat, beside which recipes such "
        "as `spiral` can be seen. The scale is ours.",
        "Groups are those of a seat: answers of the second player are compared with each other.",
    ),
)

SELF_PLAY_TWO = dataclasses.replace(
    SELF_PLAY,
    name="self-play-two",
    claim="-: each seat has parameters of its own, so that what one learns does not change the other",
    tasks=("game:kuhn-opponent", "game:nim-opponent"),
    models={"policy": Model(), "opponent": Model()},
    roles={"policy": "policy", "opponent": "opponent"},
    notes=(*SELF_PLAY.notes, "Both sets begin with the same weights. Exams ask the role `policy` on the first seat."),
)
