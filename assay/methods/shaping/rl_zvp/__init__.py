"""Groups of equal rewards train too, by the entropy of their tokens."""

from assay.methods.shaping.rl_zvp.credit import ByCertainty
from assay.objective import Clip, Objective, TokenMean
from assay.recipe import Mechanism, Recipe
from assay.scale import Scale

RL_ZVP = Recipe(
    name="rl-zvp",
    title="No Prompt Left Behind: Exploiting Zero-Variance Prompts in LLM Reinforcement Learning via Entropy-Guided "
    "Advantage Shaping",
    paper="2509.21880",
    claim="prompts that are all right or all wrong teach through the entropy of their tokens: up to 8.61 points of "
    "accuracy and 7.77 of pass rate over GRPO on six mathematics benchmarks",
    mechanism=Mechanism(
        credit=ByCertainty(alpha=0.1, ddof=1, epsilon=1e-6),
        objective=Objective(gate=Clip(low=0.2, high=0.28), aggregate=TokenMean()),
    ),
    scale=Scale(num_prompts=512, group_size=8, max_new=4096, learning_rate=1e-6, num_steps=300, num_minibatches=16),
    notes=(
        "From descriptions of the paper: the two formulas, alpha of 0.1 (0.2 does as well, 0.3 breaks), 512 prompts "
        "in mini-batches of 32, no dynamic sampling. We found no code of the authors.",
        "Ours: the entropy of the sampling distribution over the whole vocabulary at the training temperature, the "
        "mean over tokens, the clip, ddof, epsilon, groups of 8, lengths and steps; no KL penalty.",
        "Ours: in a group that is all wrong, answers that the limit cut have advantage 0.",
        "Entropy is in nats and differs between models: compare the mean |A| of mixed groups with that of groups of "
        "equal rewards before a long run. One outlying token sets the scale of a wrong answer; a wrong answer of one "
        "token has A = 0.",
    ),
)
