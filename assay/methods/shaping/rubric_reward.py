"""A judge decides for each criterion of a rubric of the problem's own; the weighted share that is met is the reward."""

from assay.recipe import Like
from assay.reward import JudgedByRubric

FIXED = (
    "The response states one final answer, in the form that the problem asks for.",
    "The final answer is correct.",
    "Each step follows from the steps before it.",
    "Nothing in the response is beside the point or said twice.",
)
"""For problems without a rubric of their own."""

RUBRIC_REWARD = Like(
    "grpo",
    name="rubric-reward",
    title="Rubrics as Rewards: Reinforcement Learning Beyond Verifiable Domains",
    paper="2507.17746",
    claim="rubrics of single problems are better rewards than one rating without them: 31.2 (one rating over the "
    "rubric) and 29.7 (criterion by criterion) against 25.5 on HealthBench, and 12.5 with one rubric for all problems",
    changes={
        "mechanism.reward": (JudgedByRubric(aggregation="explicit", criteria=FIXED),),
        "scale.num_prompts": 96,
        "scale.group_size": 16,
        "scale.max_new": 3584,
        "scale.learning_rate": 5e-6,
    },
    notes=(
        "The rubric is the column `rubric` of the data; its writing by a strong model is a step before the run. "
        "Problems without one have a fixed rubric of ours, which the paper finds much worse.",
        "16 samples, batches of 96 and the rate are those of the paper for Qwen2.5-7B; max_new is its whole context.",
        "Vetoes are of 2508.12790; the paper's pitfalls are ordinary criteria of weight 0.8.",
    ),
    deviations=("All criteria are judged in one request, where the paper asks about each of them by itself.",),
    missing="rubrics written by a model, and RLCF's pairs for DPO (2507.18624)",
)

RUBRIC_WHOLE = Like(
    "rubric-reward",
    name="rubric-whole",
    claim="one rating over all criteria and their weights (implicit) is the paper's best aggregation on HealthBench",
    changes={"mechanism.reward": (JudgedByRubric(aggregation="implicit", criteria=FIXED),)},
    notes=("A veto has no effect here: the judge weighs all criteria itself.",),
)
