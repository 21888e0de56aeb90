"""A critic is the baseline of every token; a step is bounded by clipping the ratio, or in `kl-old` by a penalty on the
divergence.
"""

from assay.credit import GAE, Whiten
from assay.forwards import Critic
from assay.objective import KL, Clip, Objective, TokenMean
from assay.recipe import Like, Mechanism, Recipe
from assay.scale import Model, Scale

PPO = Recipe(
    name="ppo",
    title="Proximal Policy Optimization Algorithms",
    paper="1707.06347",
    claim="several steps on one batch are safe behind a clipped ratio, with a critic as the baseline of every token",
    missing="games and robots: only language models are trained",
    mechanism=Mechanism(
        forwards=(Critic(model="critic", gamma=1.0, lam=1.0, clip=0.5, rate=10.0, aggregate=TokenMean()),),
        credit=GAE(gamma=1.0, lam=1.0),
        shape=(Whiten(by="batch", ddof=1, epsilon=1e-8),),
        objective=Objective(gate=Clip(low=0.2, high=0.2, dual=3.0), aggregate=TokenMean()),
    ),
    scale=Scale(num_prompts=1024, group_size=1, max_new=1024, learning_rate=1e-6, num_steps=500, num_minibatches=4),
    models={"policy": Model(), "critic": Model(output="value")},
    notes=(
        "The paper has games and robots; these are the values by which language models are trained with it (verl's "
        "defaults: gamma and lambda 1, clip 0.2, dual clip 3, value clip 0.5, critic 1e-5 beside actor 1e-6). "
        "num_prompts, max_new, the 4 mini-batches and num_steps are those of its examples, or ours.",
        "Verifiable rewards: without the KL penalty that RLHF has in the reward; `token-kl` of `forwards` adds it.",
        "Values are those of the state before a token, from before the first step of either set. A truncated answer is "
        "a failed one: no value beyond it is added. Tokens of others are no steps.",
        "The critic is a set of its own with a head that starts at zero. Its targets are A + V before whitening.",
        "A fixed lambda below 1 leaves lambda^(T - t) of the reward to token t: 0.6 % at 0.95 and 100 tokens.",
    ),
    deviations=(
        "verl whitens by sqrt(variance + 1e-8), here it is standard deviation + 1e-8.",
        "Values after the token (a shift by one), whitened returns and a reward on the last padded place are met "
        "in the wild.",
    ),
)

KL_OLD = Like(
    "grpo",
    name="kl-old",
    title="Proximal Policy Optimization Algorithms (the penalty)",
    paper="1707.06347",
    claim="a penalty on the step in place of a clip: it says how far a step goes, and remembers no start",
    changes={
        "mechanism.objective": Objective(
            gate=Clip(low=0.2, high=0.2),
            aggregate=TokenMean(),
            regularise=(KL(weight=1.0, estimator="weighted-k3", anchor="old"),),
        ),
        "scale.num_minibatches": 4,
    },
    notes=(
        "The divergence from the policy before the step, for each token. Weight 1 is the middle of the paper's fixed "
        "ones (0.3, 1, 3); beside it GRPO's clip stays. Four mini-batches and the token mean are ours.",
        "It has no gradient at the first of the updates.",
    ),
)
