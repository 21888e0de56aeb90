"""Half of a solution, later a quarter, is part of the question; a lagging policy samples, and PPO is decoupled."""

import dataclasses

from assay.collect import Lagged, Refill
from assay.credit import Score, Whiten
from assay.curate import Band, FirstGroups
from assay.memory import Follow
from assay.methods.exploration.questa.partial_solution import PartialSolution
from assay.objective import Clip, Drop, Objective, TokenMean
from assay.recipe import Mechanism, Recipe, Stage
from assay.reward import Outcome
from assay.scale import Model, Scale

HALF = Mechanism(
    ask=(PartialSolution(percent=50),),
    expand=(Refill(max_rounds=10),),
    collect=(Lagged(model="behaviour"),),
    reward=(Outcome(right=5.0, wrong=0.0),),
    curate=(Band(low=0.05, high=0.95), FirstGroups()),
    credit=Score(),
    shape=(Whiten(ddof=0, epsilon=1e-5),),
    objective=Objective(gate=Clip(low=0.2, high=0.2), correct=(Drop(high=5.0),), aggregate=TokenMean()),
    remember=(Follow(every=5),),
)

QUESTA = Recipe(
    name="questa",
    title="QuestA: Expanding Reasoning Capacity in LLMs via Question Augmentation",
    paper="2507.13266",
    claim="half, then a quarter, of a solution in the question makes hard problems learnable: AIME24 67.1 (+5.3), "
    "AIME25 59.5 (+10.0) with 1.5B parameters, and pass@k rises too",
    mechanism=HALF,
    scale=Scale(
        num_prompts=128,
        group_size=16,
        max_new=24000,
        learning_rate=2e-5,
        num_steps=500,
        weight_decay=0.05,
        beta2=0.95,
    ),
    models={"policy": Model(), "behaviour": Model(trained=False, follows="policy")},
    stages=(
        Stage("half"),
        Stage(
            "quarter",
            mechanism=dataclasses.replace(HALF, ask=(PartialSolution(percent=25),)),
            start="continue",
            optimiser="reset",
        ),
    ),
    notes=(
        "Values are those of the two released configurations; num_steps, the equal length of the stages and the cap "
        "of rounds are ours.",
        "The released code whitens the scaled rewards over all tokens of the batch and has no baseline by group: "
        "`group_adv_norm: false` there means to normalise over the whole batch, not to leave it out.",
        "A token whose correction pi_prox / pi_behaviour exceeds 5 is dropped, not capped at 5.",
        "The released rollouts are asynchronous, at most 4 versions behind. Here a follower copies the weights every "
        "5 steps and samples all answers: the lag is 0, 1, 2, 3, 4 in turn, the same in every run.",
        "Solutions are cut by characters, as in the release, so that a number may be cut in two; unit=steps cuts "
        "between steps. leaks=bare leaves out a hint that contains the answer; the release keeps such hints.",
        "Problems are those of the task; the paper filtered its problems for a low pass rate of a small model.",
        "The second stage never trains without a hint. Held-out problems are asked without hints throughout.",
        "In compact wording the hint stands in brackets after the question, because there are no lines for a title.",
    ),
)
