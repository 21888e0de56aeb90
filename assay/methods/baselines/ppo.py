"""A critic gives every token its baseline; a clip of the ratio bounds updates, or in `kl-old` a KL penalty."""

from assay.credit import GAE, Whiten
from assay.forwards import Critic
from assay.objective import KL, Clip, Objective, TokenMean
from assay.recipe import Like, Mechanism, Recipe
from assay.scale import Model, Scale

PPO = Recipe(
    name="ppo",
    title="Proximal Policy Optimization Algorithms",
    paper="1707.06347",
    claim="several updates on one batch are safe behind a clipped ratio, with a critic as the baseline of every token",
    mechanism=Mechanism(
        forwards=(Critic(model="critic", gamma=1.0, lam=1.0, clip=0.5, rate=10.0, aggregate=TokenMean()),),
        credit=GAE(gamma=1.0, lam=1.0),
        shape=(Whiten(by="batch", ddof=1, epsilon=1e-8),),
        objective=Objective(gate=Clip(low=0.2, high=0.2, dual=3.0), aggregate=TokenMean()),
    ),
    scale=Scale(num_prompts=1024, group_size=1, max_new=1024, learning_rate=1e-6, num_steps=500, num_minibatches=4),
    models={"policy": Model(), "critic": Model(output="value")},
    notes=(
        "The paper trains games and robots. These are the values by which language models are trained with PPO: "
        "verl's defaults (gamma and lambda 1, clip 0.2, dual clip 3, value clip 0.5, learning rates 1e-5 of the "
        "critic and 1e-6 of the actor). num_prompts, max_new, the 4 mini-batches and num_steps are those of verl's "
        "examples, or ours.",
        "Rewards are verifiable, so they lack the KL penalty that RLHF adds to the reward; `token-kl` of `forwards` "
        "adds it.",
        "A value is that of the state before its token, computed before the first update of critic or policy. A "
        "truncated answer is a failed one: no value is added beyond its end. Tokens of an environment are not "
        "actions.",
        "The critic is a parameter set of its own with a head that starts at zero. Its targets are A + V, with A "
        "before whitening.",
        "With a fixed lambda below 1, token t sees only lambda^(T - t) of the reward: 0.6 % at 0.95 and 100 tokens.",
    ),
    deviations=(
        "verl whitens by sqrt(variance + 1e-8); here the divisor is the standard deviation + 1e-8.",
        "Other implementations take the value after the token (a shift by one), whiten returns, or put the reward on "
        "the last padded position.",
    ),
)

KL_OLD = Like(
    "grpo",
    name="kl-old",
    title="Proximal Policy Optimization Algorithms (the penalty)",
    paper="1707.06347",
    claim="a KL penalty in place of a clip bounds an update as well",
    changes={
        "mechanism.objective": Objective(
            gate=Clip(low=0.2, high=0.2),
            aggregate=TokenMean(),
            regularise=(KL(weight=1.0, estimator="weighted-k3", anchor="old"),),
        ),
        "scale.num_minibatches": 4,
    },
    notes=(
        "The penalty is the KL divergence from the policy before the step, for each token. Weight 1 is the middle of "
        "the paper's fixed weights (0.3, 1, 3); GRPO's clip stays beside it. Four mini-batches and the token mean are "
        "ours.",
        "At the first update the penalty has no gradient.",
    ),
)
