"""The verdict is a label, predicted from the policy's log-ratio beside those of its group."""

from assay.credit import LeaveOneOut
from assay.methods.pacs.loss import PACS as Loss
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
        "The loss reads verdicts and log-ratios; the advantage is shown beside it, because the first update without "
        "class weights is leave-one-out on true sums over tokens.",
        "Sums grow with the answer: at 4096 tokens beta = 1 saturates after one update. beta should fall with the "
        "length that is trained.",
        "A group that is all right or all wrong is pulled together in later updates of a step, as in the release.",
    ),
    deviations=(
        "The released sum over tokens has no mask: padding leaks unless its log-probs are zero.",
        "The release compares the answers of a micro-batch, so a group has to fit into one; here it need not.",
    ),
)
