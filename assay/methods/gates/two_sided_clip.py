"""The ratio has an upper bound for negative advantages too."""

from assay.collect import Lagged
from assay.credit import GroupRelative
from assay.memory import Follow
from assay.objective import KL, Clip, Entropy, Objective, TokenMean
from assay.recipe import Mechanism, Recipe
from assay.scale import Scale, behind

TWO_SIDED = Recipe(
    name="two-sided-clip",
    title="INTELLECT-2: A Reasoning Model Trained Through Globally Decentralized Reinforcement Learning",
    paper="2505.07291",
    claim="PPO's clip leaves the ratio without an upper bound if the advantage is negative; a bound there ends the "
    "spikes of loss and gradient that broke larger models",
    missing="training spread over the machines of strangers, and the check of what they sampled",
    mechanism=Mechanism(
        collect=(Lagged(model="behaviour"),),
        credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
        objective=Objective(
            gate=Clip(low=0.2, high=0.2, dual=4.0),
            aggregate=TokenMean(),
            regularise=(KL(weight=0.001, estimator="k3"), Entropy(weight=1e-4)),
        ),
        remember=(Follow(every=1),),
    ),
    scale=Scale(
        num_prompts=256,
        group_size=16,
        max_new=32768,
        learning_rate=3e-7,
        num_steps=400,
        num_minibatches=8,
        warmup_steps=25,
        clip_norm=0.1,
    ),
    models=behind(2),
    notes=(
        "delta 4, clip, KL, 16 answers and the rate are the report's (4.1, according to TRL's paper index). Length, "
        "warm-up, norm 0.1, 8 mini-batches, which make 256 prompts, and answers two steps old are those of prime-rl's "
        "configuration for QwQ-32B of May 2025. The weight of the entropy bonus is from memory; the code's default "
        "was 1e-3. num_steps is ours, and so is temperature 1: the code's default was 0.6.",
        "The report caps the ratio at delta before PPO's clip; verl's dual clip (1912.09729) caps the loss. In both, "
        "a token with A < 0 has no gradient while its ratio is above the bound.",
        "The denominator of the ratio is the policy before the step, as in the report, not the sampler.",
    ),
    deviations=(
        "ROLL's dual clip is at 1 + 2 epsilon, 1.4 for epsilon 0.2; verl's default is 3, DAPO's recipe has 10.",
        "prime-rl of May 2025 computed the KL from the log-probs before the step, so that it had no gradient, and its "
        "configurations left it off.",
    ),
)
