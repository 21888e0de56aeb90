from assay.credit import LeaveOneOut
from assay.objective import NoRatio, Objective, Open, SequenceSum
from assay.recipe import Mechanism, Recipe, Scale

RLOO = Recipe(
    name="rloo",
    title="Back to Basics: Revisiting REINFORCE Style Optimization for Learning from Human Feedback in LLMs",
    paper="2402.14740",
    claim="REINFORCE with the mean of the other samples as baseline outperforms PPO at lower cost",
    mechanism=Mechanism(
        credit=LeaveOneOut(),
        objective=Objective(ratio=NoRatio(), gate=Open(), aggregate=SequenceSum()),
    ),
    scale=Scale(num_prompts=128, group_size=4, max_new=1024, learning_rate=1e-6, num_steps=500),
    notes=(
        "Verifiable rewards: without the KL penalty that the paper's RLHF setting puts in the reward.",
        "Some trainers whiten the advantages afterwards; that is no longer leave-one-out.",
        "num_prompts, max_new and num_steps are ours: the paper states them for RLHF data sets only.",
    ),
)
