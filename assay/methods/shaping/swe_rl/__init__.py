"""A patch is worth the similarity of its diff and the reference's; nothing is executed."""

from assay.ask import Templated
from assay.credit import GroupRelative
from assay.methods.shaping.swe_rl.patch import PatchMatch
from assay.objective import Clip, Objective, SequenceMean
from assay.recipe import Mechanism, Recipe
from assay.scale import Scale

SWE_RL = Recipe(
    name="swe-rl",
    title="SWE-RL: Advancing LLM Reasoning via Reinforcement Learning on Open Software Evolution",
    paper="2502.18449",
    claim="the similarity of patches alone trains a 70B model to 41.0% on SWE-bench Verified, and it improves on five "
    "other kinds of tasks, where fine-tuning loses on average",
    mechanism=Mechanism(
        ask=(Templated(),),
        reward=(PatchMatch(),),
        credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
        objective=Objective(gate=Clip(low=0.2, high=0.2), aggregate=SequenceMean()),
    ),
    scale=Scale(num_prompts=32, group_size=16, max_new=16384, learning_rate=1e-6, num_steps=1600),
    notes=(
        "-1 for an edit that cannot be read or applied, else the similarity, from 0 to 1.",
        "32 problems of 16 answers, 16k tokens and 1,600 steps are from memory; rate, clip and aggregation are ours.",
        "The task `repair` compares changed lines only, because one wrong character of a short diff with its context "
        "still scores about 0.95. Its verdict is by results, which the reward does not read.",
    ),
    deviations=("The answer is in R1's template with a box; the paper's template has <solution>.",),
    missing="pull requests as data, and Agentless-mini, with which the paper applies the model",
    tasks=("repair",),
)
