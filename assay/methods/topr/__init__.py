"""Right answers have full weight, and wrong ones less the further the policy has left them."""

from assay.collect import Lagged
from assay.credit import Score
from assay.memory import Follow
from assay.methods.topr.gate import Tapered
from assay.objective import Objective, SequenceMean, SequenceRatio
from assay.recipe import Mechanism, Recipe
from assay.reward import Outcome
from assay.scale import Model, Scale

TOPR = Recipe(
    name="topr",
    title="Tapered Off-Policy REINFORCE: Stable and efficient reinforcement learning for LLMs",
    paper="2503.14286",
    claim="right answers at full weight, wrong ones less the further the policy has left them: improves steadily off "
    "policy, where plain REINFORCE collapses and PPO stalls, without KL or clip",
    mechanism=Mechanism(
        collect=(Lagged(model="behaviour"),),
        reward=(Outcome(right=1.0, wrong=-1.0),),
        credit=Score(),
        objective=Objective(
            ratio=SequenceRatio(of="product"),
            gate=Tapered(up_least=1.0, up_most=1.0, down_least=0.0, down_most=1.0),
            anchor="sampler",
            aggregate=SequenceMean(),
        ),
        remember=(Follow(every=8),),
    ),
    scale=Scale(num_prompts=128, group_size=16, max_new=512, learning_rate=5e-7, num_steps=500, top_k=500),
    models={"policy": Model(), "behaviour": Model(trained=False, follows="policy")},
    notes=(
        "Rewards, taper, 16 answers, 512 tokens, top_k and the rate are the paper's for GSM8K. It generates a set with "
        "one policy and goes once through it: here one policy writes 8 steps of 128 prompts; both numbers are ours.",
        "The paper trains with Adafactor; here it is AdamW.",
        "No baseline, so the sign of the advantage is that of the reward. A constant taken off the rewards sets the "
        "share of right answers that counts, best at 10 to 20 %: --mechanism.reward.0.right 0.5 "
        "--mechanism.reward.0.wrong -1.5 takes off 0.5.",
        "The ratio is the product over the answer, which of a long answer is soon 0, and its push with it; "
        "--mechanism.objective.ratio.of mean is the ratio per token.",
        "What is masked by a limit of the sampler has the log-prob of what was really sampled from.",
    ),
    deviations=(
        "verl takes the mean ratio, held to [0, 1], and goes by the sign of the advantage, which has a baseline.",
        "ROLL takes the ratio of each token, and goes by the sign of the score beside whitened advantages: a right "
        "answer may be pushed down.",
    ),
)
