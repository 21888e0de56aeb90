"""Each round trains the first checkpoint anew, on the right answers of all rounds so far."""

from assay.ask import Rehearse
from assay.credit import Constant
from assay.curate import NoTraining
from assay.memory.harvest import Harvest
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
    claim="sampling, keeping the right answers and training the first checkpoint on all of them is the best of expert "
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
        "96 samples a question at temperature 1 are from memory of the paper, whose full text we did not find; the "
        "scale is ours.",
        "Here there are three rounds of a fixed length. In the paper rounds go on until accuracy stops rising: four "
        "or five, by an account of the paper.",
        "Answers with equal tokens count as one answer, and at most 4 answers of a question and round are stored; "
        "both are our choice.",
        "Each round trains the first checkpoint on the answers of all rounds, because going on from the checkpoint of "
        "the round before over-fits.",
        "All sampled tokens count towards the budget, those of answers that are thrown away too.",
    ),
    deviations=("Rejection-sampling fine-tuning (RAFT) goes on from the checkpoint of the round before.",),
)
