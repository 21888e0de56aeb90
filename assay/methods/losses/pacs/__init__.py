"""The verdict is a label, which the policy's log-ratio predicts relative to the other answers of the group."""

from assay.credit import LeaveOneOut
from assay.methods.losses.pacs.loss import PACS as Loss
from assay.objective import NoRatio, Objective, Open
from assay.recipe import Mechanism, Recipe
from assay.reward import Outcome
from assay.scale import Scale

PACS = Recipe(
    name="pacs",
    title="Implicit Actor Critic Coupling via a Supervised Learning Framework for RLVR",
    paper="2509.02522",
    claim="verdicts predicted from the policy's own log-ratios: pass@256 of 59.78 on AIME 2025 with Qwen2.5-7B, 13.32 "
    "above PPO and 14.36 above GRPO",
    mechanism=Mechanism(
        reward=(Outcome(right=1.0, wrong=0.0),),
        credit=LeaveOneOut(),
        objective=Objective(whole=Loss(beta=1.0, balanced=True), ratio=NoRatio(), gate=Open()),
    ),
    scale=Scale(num_prompts=1024, group_size=8, max_new=4096, learning_rate=1e-6, num_steps=300, num_minibatches=4),
    notes=(
        "beta, the class weights by question and the scale are those of the released script.",
        "The loss reads verdicts and log-ratios. The recipe also computes leave-one-out advantages, for display: "
        "without class weights the first update has their gradient, with true sums over tokens.",
        "Sums of log-ratios grow with the length: at 4096 tokens and beta = 1 the loss saturates after one update. "
        "Lower beta for longer answers.",
        "In a group that is all right or all wrong, later updates of a step pull the log-ratios together, as in the "
        "release.",
    ),
    deviations=(
        "The released sum over tokens has no mask, so padding counts unless its log-probs are zero.",
        "The release compares the answers of a micro-batch, so that a group has to fit into one; here a group may be "
        "split.",
    ),
)
