"""Programs are imitated that agree on whole sets of generated tests, and then trained on these tests."""

from assay.ask import Demonstrate
from assay.credit import Constant, GroupRelative
from assay.objective import Clip, NoRatio, Objective, Open, TokenMean
from assay.recipe import Mechanism, Recipe, Stage
from assay.reward import Outcome
from assay.scale import Scale

IMITATE = Mechanism(
    ask=(Demonstrate(),),
    credit=Constant(value=1.0),
    objective=Objective(ratio=NoRatio(), gate=Open(), aggregate=TokenMean(), injected="train"),
)

RSTAR_CODER = Recipe(
    name="rstar-coder",
    title="rStar-Coder: Scaling Competitive Code Reasoning with a Large-Scale Verified Dataset",
    paper="2505.21297",
    claim="tests by generators and validators, labelled by solutions that agree on all of them, raise a 7B model from "
    "17.4 to 57.3 on LiveCodeBench by imitation alone",
    missing="the paper's problems and the prompts that write new ones from old; `assay data tests` makes the tests of "
    "problems, generators and solutions that a row brings",
    tasks=("programs",),
    mechanism=Mechanism(
        reward=(Outcome(right=1.0, wrong=0.0),),
        credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
        objective=Objective(gate=Clip(low=0.2, high=0.2), aggregate=TokenMean()),
    ),
    scale=Scale(num_prompts=96, group_size=8, max_new=16384, learning_rate=4e-5, num_steps=400, schedule="cosine"),
    stages=(
        Stage("imitate", share=9, mechanism=IMITATE),
        Stage("tests", share=1),
    ),
    notes=(
        "The paper only imitates: 6 epochs, 16K tokens. The second stage, RL on the tests, is ours, and so are batch, "
        "rate and the shares; `--stages.1.share 0` leaves it out.",
        "Outputs are believed if 60% of 16 solutions (40% for hard problems) give the same on at least 50 inputs, as "
        "in the paper. The scales from 1 to 100,000 and the second run of those that agree are ours.",
        "In the task `programs` tests come from the operations that a problem names, and are right without a vote.",
    ),
)
