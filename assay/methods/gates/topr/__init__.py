"""Right answers have full weight, and a wrong answer weighs less, the further the policy has moved away from it."""

from assay.collect import Lagged
from assay.credit import Score
from assay.memory import Follow
from assay.methods.gates.topr.gate import Tapered
from assay.objective import Objective, SequenceMean, SequenceRatio
from assay.recipe import Mechanism, Recipe
from assay.reward import Outcome
from assay.scale import Model, Scale

TOPR = Recipe(
    name="topr",
    title="Tapered Off-Policy REINFORCE: Stable and efficient reinforcement learning for LLMs",
    paper="2503.14286",
    claim="right answers at full weight, wrong ones less the further the policy has moved away from them: improves "
    "steadily off policy, where plain REINFORCE collapses and PPO stalls, without KL penalty or clip",
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
        "Rewards, bounds of the ratio, 16 answers, 512 tokens, top_k and the rate are the paper's for GSM8K. The "
        "paper samples a whole set with one policy and trains once on it; here one policy samples for 8 steps of 128 "
        "prompts, and both numbers are ours.",
        "The paper trains with Adafactor; here the optimiser is AdamW.",
        "There is no baseline, so the advantage has the sign of the reward. Subtracting a constant from the rewards "
        "sets the effective share of right answers, which is best at 10 to 20 %: `--mechanism.reward.0.right 0.5 "
        "--mechanism.reward.0.wrong -1.5` subtracts 0.5.",
        "The ratio is the product over the answer, which for a long answer is soon 0, so that the answer has no "
        "gradient; `--mechanism.objective.ratio.of mean` takes the ratio per token.",
        "The sampler's log-probs are those of the truncated distribution (top_k) from which it drew.",
    ),
    deviations=(
        "verl takes the mean ratio, clamped to [0, 1], and decides by the sign of the advantage, which has a baseline.",
        "ROLL takes the ratio of each token, and decides by the sign of the score although advantages are whitened: a "
        "right answer may be pushed down.",
    ),
)
