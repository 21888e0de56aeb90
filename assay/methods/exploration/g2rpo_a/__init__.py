"""A few answers of each group begin with the worked solution, and how much of it they get follows from the rewards."""

from assay.credit import GroupRelative
from assay.methods.exploration.g2rpo_a.guidance import AdaptGuidance, GuideAnswers
from assay.objective import Clip, Objective, SequenceMean
from assay.recipe import Mechanism, Recipe
from assay.scale import Scale

G2RPO_A = Recipe(
    name="g2rpo-a",
    title="G^2RPO-A: Guided Group Relative Policy Optimization with Adaptive Guidance",
    paper="2508.13023",
    claim="guidance whose length adapts takes small models substantially above GRPO on mathematics and code, where "
    "guidance of a fixed length gives little",
    missing="a reward of 0.1 for the format",
    mechanism=Mechanism(
        ask=(GuideAnswers(share=2 / 12, longest=3072),),
        credit=GroupRelative(scale="std", ddof=1, epsilon=1e-4),
        objective=Objective(gate=Clip(low=0.2, high=0.2), aggregate=SequenceMean(), injected="train"),
        remember=(AdaptGuidance(longest=3072, window=3, grow=1.25),),
    ),
    scale=Scale(num_prompts=16, group_size=12, max_new=4096, learning_rate=1e-5, num_steps=500, temperature=0.7),
    notes=(
        "2 of 12 answers, the first and longest guidance of 3072 tokens, rate, temperature, the epsilon of 1e-4 and "
        "one update a rollout are those of the release. num_prompts, max_new, num_steps, the clip, which one update "
        "never meets, and the mean over each answer are ours.",
        "Tokens of the guidance have the advantage of their answer and train like sampled ones, with a ratio of 1: "
        "imitation, weighted by how the answer compares with its group. injected=mask leaves them out.",
        "The length follows the general rule of the paper over three steps. The release looks at every third step, "
        "and counts guided answers in the accuracy; here only unguided ones count, because the guidance would affect "
        "its own signal. After a step without a right answer, for which the rule is not defined, the guidance grows "
        "by a quarter: ours.",
        "The first steps give nearly the whole solution. In groups of 8 (laptop) one answer is guided.",
    ),
    deviations=("The release's pattern has 12 places and its configuration asks for 10 answers.",),
)
