"""The right answers of all rounds train the first checkpoint anew."""

from assay.ask import Rehearse
from assay.credit import Constant
from assay.memory.harvest import Harvest
from assay.methods.expert_iteration.no_training import NoTraining
from assay.objective import NoRatio, Objective, Open, TokenMean
from assay.recipe import Mechanism, Recipe, Stage
from assay.scale import Scale

ROUNDS = 3
SAMPLE = Mechanism(curate=(NoTraining(),), remember=(Harvest(most=4),))
FIT = Mechanism(
    ask=(Rehearse(),),
    credit=Constant(value=1.0),
    objective=Objective(ratio=NoRatio(), gate=Open(), aggregate=TokenMean()),
)

EXPERT_ITERATION = Recipe(
    name="expert-iteration",
    title="Teaching Large Language Models to Reason with Reinforcement Learning",
    paper="2403.04642",
    claim="sampling, keeping what is right and training the first checkpoint on all of it is the best of expert "
    "iteration, PPO and return-conditioned RL in most cases, with about as many samples as PPO",
    mechanism=FIT,
    scale=Scale(num_prompts=64, group_size=96, max_new=512, learning_rate=2e-5, num_steps=300, warmup_steps=5),
    stages=tuple(
        stage
        for number in range(1, ROUNDS + 1)
        for stage in (
            Stage(f"sample {number}", share=1, mechanism=SAMPLE),
            Stage(f"fit {number}", share=4, mechanism=FIT, start="base", optimiser="reset"),
        )
    ),
    notes=(
        "96 samples a question at temperature 1 are from memory of the paper, whose full text was not found; the scale "
        "is ours.",
        "Three rounds of a fixed length stand for rounds that go on until nothing is gained: four or five there, by an "
        "account of the paper.",
        "Answers are the same if their tokens are; at most 4 of a question and round are kept: ours.",
        "Each round trains the first checkpoint on the answers of all rounds: going on from the round before "
        "over-fits.",
        "Everything that was sampled is on the budget, what was thrown away too.",
    ),
    deviations=("Rejection-sampling fine-tuning (RAFT) goes on from the checkpoint of the round before.",),
)
