"""The baseline of an answer is the mean reward of the other answers of its group."""

from assay.credit import LeaveOneOut
from assay.forwards import TokenKL
from assay.objective import NoRatio, Objective, Open, SequenceSum
from assay.recipe import Mechanism, Recipe
from assay.scale import Model, Scale

RLOO = Recipe(
    name="rloo",
    title="Back to Basics: Revisiting REINFORCE Style Optimization for Learning from Human Feedback in LLMs",
    paper="2402.14740",
    claim="REINFORCE with the mean of the other samples as baseline outperforms PPO at lower cost",
    mechanism=Mechanism(
        forwards=(TokenKL(weight=0.03),),
        credit=LeaveOneOut(),
        objective=Objective(ratio=NoRatio(), gate=Open(), aggregate=SequenceSum()),
    ),
    scale=Scale(num_prompts=128, group_size=4, max_new=1024, learning_rate=1e-6, num_steps=500),
    models={"policy": Model(), "reference": Model(trained=False)},
    notes=(
        "The KL penalty is part of the reward of an answer, so it is in the baseline of the other answers too. Its "
        "weight of 0.03, the rate, 2 or 4 answers and a batch of 512 are the paper's (appendix C, according to TRL's "
        "paper index), for reward models; `--mechanism.forwards none` removes the penalty and trains on verdicts "
        "alone.",
        "max_new and num_steps are ours: the paper states them for RLHF data sets only. So are 128 prompts, which "
        "make 512 answers.",
    ),
    deviations=(
        "Some trainers whiten the advantages afterwards, which is no longer leave-one-out. TRL's default weight of "
        "the KL is 0.05.",
        "For a group of one, verl's plain version keeps the raw score as advantage and its vectorised version gives "
        "0; here such a group is refused.",
    ),
)
