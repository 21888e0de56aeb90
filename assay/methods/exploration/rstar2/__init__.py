"""Twice as many answers are sampled as train: the right ones with the fewest tool errors, and random wrong ones."""

from assay.credit import GroupRelative
from assay.curate import MixedGroups
from assay.methods.exploration.rstar2.resample import ResampleOnCorrect
from assay.objective import Clip, Objective, TokenMean
from assay.recipe import Mechanism, Recipe
from assay.reward import Outcome
from assay.scale import Scale

RSTAR2 = Recipe(
    name="rstar2",
    title="rStar2-Agent: Agentic Reasoning Technical Report (GRPO-RoC)",
    paper="2508.20722",
    claim="twice as many answers are sampled as train, and of the right ones those with the fewest tool errors train: "
    "14B at 80.6 on AIME24 and 69.8 on AIME25 in 510 steps, with shorter answers than DeepSeek-R1",
    missing="the paper's second and third stage: answers of 12K tokens, then problems that are not always solved",
    tasks=("lookup-strict", "interpreter", "search-small", "sql-tool", "lookup-faulty"),
    mechanism=Mechanism(
        reward=(Outcome(right=1.0, wrong=0.0),),
        curate=(MixedGroups(by="reward"), ResampleOnCorrect(keep=16, least=2)),
        credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
        objective=Objective(gate=Clip(low=0.2, high=0.28), aggregate=TokenMean()),
    ),
    scale=Scale(num_prompts=128, group_size=32, max_new=8192, learning_rate=1e-6, num_steps=510, warmup_steps=20),
    notes=(
        "Batch, group, learning rate, warm-up, clip and the numbers 16 and 2 are those of the published script, which "
        "runs 200 steps; the paper has 510.",
        "The paper draws right answers with a probability that falls with the penalty; the published code sorts them "
        "by the penalty, as here. The published code sorts the wrong answers too, although the paper keeps their "
        "diversity; here wrong answers are drawn at random.",
        "If there are too few right and too few wrong answers, the published code keeps the whole group; here the "
        "kind that has enough fills the group.",
        "The paper's second and third stage (answers of 12K tokens, then problems not always solved) are not in this "
        "recipe, because all stages share one limit of answers.",
        "With Python a tool error is a program that ends in an exception or is stopped at a limit of the sandbox.",
        "A reply of the environment says itself whether it is a tool error. The answers given in a text are counted "
        "by the mark that the prompt's wording asks for.",
    ),
)
