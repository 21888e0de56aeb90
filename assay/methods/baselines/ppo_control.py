"""PPO as its paper has it, for policies over observations: pieces of episodes, several passes over each, and a critic
whose value stands for what a piece cut off.
"""

from assay.collect import Fragments
from assay.credit import GAE, Whiten
from assay.forwards import Critic
from assay.objective import Clip, Objective, TokenMean
from assay.recipe import Mechanism, Recipe
from assay.scale import Model, Scale

PPO_CONTROL = Recipe(
    name="ppo-control",
    title="Proximal Policy Optimization Algorithms (control)",
    paper="1707.06347",
    claim="several passes over one batch of steps, behind a clipped ratio, learn control from few steps",
    missing="actions of real numbers, the decay of the clip over the run, and one network for policy and value",
    mechanism=Mechanism(
        collect=(Fragments(steps=32),),
        forwards=(Critic(gamma=0.98, lam=0.8, clip=1e6, rate=3.0, aggregate=TokenMean(), truncated="bootstrap"),),
        credit=GAE(gamma=0.98, lam=0.8, truncated="bootstrap"),
        shape=(Whiten(by="batch", ddof=1, epsilon=1e-8),),
        objective=Objective(gate=Clip(low=0.2, high=0.2), aggregate=TokenMean()),
    ),
    scale=Scale(
        num_prompts=8,
        group_size=1,
        max_new=500,
        learning_rate=1e-3,
        num_steps=234,
        num_epochs=20,
        schedule="linear",
        clip_norm=0.5,
    ),
    tasks=("chain:5", "env:CartPole-v1"),
    models={"policy": Model(), "critic": Model(output="value")},
    notes=(
        "The numbers are those of RL Baselines3 Zoo for CartPole-v1: 8 environments of 32 steps, 20 passes over the "
        "256 steps in one mini-batch, gamma 0.98, lambda 0.8, clip 0.2, a learning rate of 0.001 that decays to 0, no "
        "entropy bonus, gradients clipped at 0.5. Its 100,000 steps are 60,000 here.",
        "A step of training is 32 steps in each environment; a recipe's num_prompts is the number of environments, and "
        "max_new the most steps of an episode.",
        "The critic is a network of its own, with a head that starts at zero and an optimiser of its own. Its learning "
        "rate, three times the policy's, is ours: values reach 50 here, and a head of zero has a long way to go. Its "
        "loss is not clipped.",
        "An episode that ends has no value beyond its end; one that a limit cuts off, or the end of a piece, has the "
        "critic's.",
        "Answers in words are collected whole.",
    ),
    deviations=(
        "Stable-Baselines3 clips the gradients of policy and critic together, whitens the advantages of each "
        "mini-batch apart, and lets the clip decay with the learning rate.",
    ),
)
