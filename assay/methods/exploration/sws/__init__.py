"""A first run finds the problems that the policy fails to learn; a second trains on more problems of their concepts."""

from assay.credit import GroupRelative
from assay.curate import Band
from assay.methods.exploration.sws.synthesis import WithSynthesised
from assay.methods.exploration.sws.weakness import KeepCurves
from assay.objective import Clip, Objective, SequenceMean
from assay.recipe import Like, Mechanism, Recipe, Stage
from assay.scale import Scale
from assay.source import Epochs

SIZE = 12288
CREDIT = GroupRelative(scale="std", ddof=1, epsilon=1e-6)
GOAL = Objective(gate=Clip(low=0.2, high=0.2), aggregate=SequenceMean())
IDENTIFY = Mechanism(source=Epochs(size=SIZE), credit=CREDIT, objective=GOAL, remember=(KeepCurves(),))

SWS = Recipe(
    name="sws",
    title="SwS: Self-aware Weakness-driven Problem Synthesis in Reinforcement Learning for LLM Reasoning",
    paper="2506.08989",
    claim="problems that are made of the concepts of those that a first run failed to learn, in training beside the "
    "old ones: an average over eight benchmarks of 56.7 instead of 46.7 with 7B, and 68.4 instead of 60.7 with 32B",
    missing="concepts that a model names, their recombination by co-occurrence and similarity, problems in words with "
    "two judges of their quality, and answers by a stronger model: the tasks make the problems, and know the answers",
    tasks=("list-fn", "compose"),
    mechanism=Mechanism(
        source=WithSynthesised(size=SIZE, added=40960, below=0.5),
        curate=(Band(low=0.125, high=0.875),),
        credit=CREDIT,
        objective=GOAL,
    ),
    scale=Scale(
        num_prompts=1024,
        group_size=8,
        max_new=7168,
        learning_rate=1e-6,
        num_steps=240,
        num_minibatches=4,
    ),
    stages=(
        Stage("identify", share=0.25, mechanism=IDENTIFY),
        Stage("retrain", share=0.75, start="base", optimiser="reset"),
    ),
    notes=(
        "12 thousand problems, groups of 8, 1024 prompts, mini-batches of 256, rate, length, no KL and the band of "
        "0.125 to 0.875 in the second run alone are the published scripts'; the weak are those of the paper.",
        "40 thousand new problems are from memory. Five epochs for the first run, the number of steps, clip and mean "
        "are ours.",
        "The second run starts from the base model again, as the published script does.",
        "A category is a task of the pool. A concept is what the task says (`Concepts`: the functions of list-fn "
        "and compose), else the level. A new problem is an instance that has a concept of a weak problem, drawn as "
        "often as it occurs among these, at any level of the pool.",
        "The paper combines five concepts in one problem. Here an instance has those that the generator gives it.",
        "The slope of a few accuracies of 8 answers is noisy. A problem that was visited once has none, and is weak if "
        "fewer than half of its answers were right. In short trials on list-fn:1,2 (60 steps, one seed) the control "
        "`sws-uniform` did as well.",
        "If no problem is weak, the second run trains on the set alone.",
    ),
)

SWS_UNIFORM = Like(
    "sws",
    name="sws-uniform",
    claim="a control: as many new problems, of the concepts of all problems alike",
    changes={"mechanism.source": WithSynthesised(size=SIZE, added=40960, below=0.5, by_weakness=False)},
)
