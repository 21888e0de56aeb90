"""Once GRPO gains no more, problems that every answer fails are asked again with a hint of the policy's own."""

import dataclasses

from assay.credit import GroupRelative
from assay.curate import MixedGroups, Untrained
from assay.memory import KeepExamined
from assay.methods.exploration.nurl.nudge import ROLE, Nudge
from assay.objective import Clip, Objective, TokenMean
from assay.recipe import Mechanism, Recipe, Rule, Stage
from assay.scale import Scale
from assay.source import Epochs, Unsolved
from assay.stages import Plateau

SIZE = 2048  # problems
GOAL = Objective(gate=Clip(low=0.2, high=0.2), aggregate=TokenMean())
PLAIN = Mechanism(
    source=Epochs(size=SIZE),
    curate=(MixedGroups(by="accuracy"),),
    credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
    objective=GOAL,
    remember=(KeepExamined(),),
)
NUDGED = dataclasses.replace(
    PLAIN,
    source=Unsolved(size=SIZE, most=0.999),
    expand=(Nudge(writer="policy"),),
    curate=(Untrained(role=ROLE), MixedGroups(by="accuracy")),
    rules=(Rule(ROLE, verified=False, objective=GOAL),),
)

NURL = Recipe(
    name="nurl",
    title="Nudging the Boundaries of LLM Reasoning",
    paper="2509.25666",
    claim="hints of the policy's own for problems that it never solves raise pass@1024 where GRPO leaves it: on GPQA "
    "from 63.6 to 69.7; the average of six benchmarks from 35.87 to 37.49 with Llama 3B",
    missing="hints written once before training from an explanation of the answer, and hints of a stronger model",
    mechanism=NUDGED,
    scale=Scale(num_prompts=128, group_size=8, max_new=4096, learning_rate=1e-6, num_steps=500),
    roles={"policy": "policy", ROLE: "policy"},
    stages=(
        Stage("plain", share=1.0, mechanism=PLAIN),
        Stage("nudged", share=1.0, when=Plateau("reward/accuracy", gain=0.005, window=30)),
    ),
    notes=(
        "From the paper: two stages, hints only where all answers are wrong, a new group of which one answer has no "
        "hint, hints that give neither answer nor steps, each answer trained under its own question. The numbers of "
        "the scale, clip, no KL penalty, the set of 2048 problems, the plateau (30 steps, 0.005) and the equal stages "
        "are ours.",
        "Here the present policy writes a hint when a problem needs it; the paper's first policy writes all hints "
        "before, after it explained the answer. The writer's tokens are not trained. The wording of its prompt is "
        "ours.",
        "In the second stage problems that were always solved at their last visit are not drawn. Compare with GRPO on "
        "the same problems.",
        "The answer without a hint is nearly always wrong: its advantage is -sqrt(p / (1 - p)), p the accuracy of the "
        "group, times sqrt((n - 1) / n) for the standard deviation with ddof 1 (0.94 in a group of eight), and it "
        "pushes the policy away from what it writes without hints.",
        "A small model trained from scratch writes no hints: `--mechanism.expand.0.writer solution` takes the "
        "first steps of the worked solution.",
    ),
)
