"""The group's mean as baseline, division by the batch's standard deviation, and a mean over tokens."""

from assay.credit import GroupRelative
from assay.objective import Clip, Objective, TokenMean
from assay.recipe import Mechanism, Recipe
from assay.scale import Scale

LITEPPO = Recipe(
    name="liteppo",
    title="Part I: Tricks or Traps? A Deep Dive into RL for LLM Reasoning",
    paper="2508.08221",
    claim="two tricks are enough: the group's mean with the batch's standard deviation, and a mean over tokens; above "
    "GRPO and DAPO from Qwen3-4B and 8B base",
    missing="the comparison of single tricks, which is most of the paper",
    mechanism=Mechanism(
        credit=GroupRelative(scale="batch", ddof=1, epsilon=1e-6),
        objective=Objective(gate=Clip(low=0.2, high=0.2), aggregate=TokenMean()),
    ),
    scale=Scale(
        num_prompts=128,
        group_size=8,
        max_new=8192,
        learning_rate=1e-6,
        num_steps=500,
        temperature=0.99,
        top_p=0.99,
        top_k=100,
    ),
    notes=(
        "Sampling, group size and epsilon are the paper's and ROLL's. The paper states 8000 and 8192 tokens in two "
        "places. num_prompts, the rate and num_steps are ours.",
        "The standard deviation is that of all rewards of the step, so it includes the differences between prompts. "
        "The deviation of the centred rewards would be smaller, and advantages larger.",
        "Filters of sampling (top-p and the like) make the sampled distribution differ from the learnt one; nothing "
        "corrects that, as in the paper.",
    ),
    deviations=("ROLL's setting adv_estimator=grpo replaces the batch's standard deviation by the group's.",),
)
