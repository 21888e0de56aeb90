"""Answers to variants of one problem are compared rank for rank; then each problem is led on to harder variants."""

from assay.credit import GroupRelative
from assay.methods.exploration.wemath2.climb import Climb, DifficultyGraph
from assay.methods.exploration.wemath2.rank_mean import RankMean
from assay.methods.exploration.wemath2.variants import Variants
from assay.objective import KL, Clip, Objective, TokenMean
from assay.recipe import Mechanism, Recipe, Stage
from assay.reward import Outcome, WellFormed
from assay.scale import Scale

ALIGNED = Mechanism(
    source=Variants(),
    reward=(Outcome(right=0.5, wrong=0.0), WellFormed(right=0.5, wrong=0.0)),
    credit=RankMean(epsilon=1e-6),
    objective=Objective(
        gate=Clip(low=0.2, high=0.3, dual=3.0),
        aggregate=TokenMean(),
        regularise=(KL(weight=0.01, estimator="k3", anchor="reference"),),
    ),
)
SCHEDULED = Mechanism(
    source=DifficultyGraph(size=4608),
    reward=ALIGNED.reward,
    credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
    objective=ALIGNED.objective,
    remember=(Climb(),),
)

WEMATH2 = Recipe(
    name="wemath2",
    title="We-Math 2.0: A Versatile MathBook System for Incentivizing Visual Mathematical Reasoning",
    paper="2508.10433",
    claim="rewards averaged over variants that share a principle, then a schedule of harder variants: a 7B model that "
    "sees reaches models trained on far more data on MathVista, MathVision, We-Math and MathVerse",
    missing="the book of 491 knowledge points with its problems and pictures, the fine-tuning on 1,000 of them, and "
    "the exercises of knowledge that a problem failed at its base is led to",
    tasks=("grids",),
    mechanism=ALIGNED,
    scale=Scale(
        num_prompts=512,
        group_size=8,
        max_new=2048,
        learning_rate=1e-6,
        num_steps=90,
        num_minibatches=4,
        top_p=0.99,
        weight_decay=0.01,
    ),
    stages=(Stage("pre-aligned", share=0.5), Stage("scheduled", share=0.5, mechanism=SCHEDULED)),
    notes=(
        "Rewards of a half each, KL, groups of 8, 512 prompts, four updates a step, rate and the arrows of the graph "
        "are the published code's; clip, mean over tokens and top-p are the defaults of its framework; the number of "
        "steps, their shares, the length and the size of the set are ours.",
        "A principle is one problem, and its variants are its levels in the pool: `--task grids:1,2,3,4,5,6,7,8` has "
        "all eight. In the paper a principle also has several problems.",
        "Of equally good answers to one variant the published code sorts one before the other by chance, and their "
        "advantages differ. Here they share the mean of their ranks, so that the order of rows decides nothing.",
        "A wrong answer has a positive advantage if answers of its rank are right on the other variants: so it is in "
        "the paper.",
        "A problem is solved if an answer is right, whatever its format. With the published test, a score of exactly "
        "1, a change of the weights would stop every walk.",
        "What follows on a failure comes first, then what follows on a success, then other problems. In the published "
        "code a problem that failed once comes again only at the level where it failed.",
    ),
)
