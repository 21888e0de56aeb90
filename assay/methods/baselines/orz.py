"""PPO with gamma = lambda = 1 and no KL penalty, and twelve updates of the critic to one of the policy."""

from assay.credit import Whiten
from assay.forwards import Critic
from assay.objective import Clip, Objective, TokenMean
from assay.recipe import Like
from assay.scale import Scale

ORZ = Like(
    "ppo",
    name="orz",
    title="Open-Reasoner-Zero: An Open Source Approach to Scaling Up Reinforcement Learning on the Base Model",
    paper="2503.24290",
    claim="plain PPO with gamma = lambda = 1, a binary reward and no KL penalty, from the base model: better than "
    "DeepSeek-R1-Zero-Qwen-32B on AIME 2024, MATH500 and GPQA Diamond with a tenth of the steps",
    changes={
        "mechanism.forwards": (
            Critic(model="critic", gamma=1.0, lam=1.0, clip=0.2, rate=5.0, num_minibatches=12, aggregate=TokenMean()),
        ),
        "mechanism.shape": (Whiten(by="batch", ddof=0, epsilon=1e-8),),
        "mechanism.objective": Objective(gate=Clip(low=0.2, high=0.2), aggregate=TokenMean()),
        "scale": Scale(
            num_prompts=128,
            group_size=64,
            max_new=8000,
            learning_rate=1e-6,
            num_steps=500,
            warmup_steps=50,
            beta2=0.95,
        ),
    },
    notes=(
        "Values are those of the released configuration; num_steps is ours.",
        "With gamma = lambda = 1 the advantage is R - V, where V is the critic's estimate of the probability that the "
        "beginning so far ends in a right answer.",
        "The policy has one update a batch, so that its clip never acts; the critic has 12.",
        "An answer that the limit cut is wrong, as in the release. The release drops empty answers, which have no "
        "weight in a mean over tokens anyway.",
    ),
    deviations=(
        "The release packs rows to 16k tokens and takes the mean of each pack; here the mean runs over the whole step.",
        "The release's option for GRPO divides by whether the standard deviation is above 0, not by its value: "
        "rewards are only centred.",
    ),
)
