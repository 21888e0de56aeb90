"""Queries verified by execution: best-of-n fine-tuning as a warm-up, then groups with a right-or-wrong reward."""

from assay.credit import Constant, GroupRelative
from assay.methods.verified.sql_rlvr.best import BestAnswers
from assay.objective import Clip, NoRatio, Objective, Open, TokenMean
from assay.recipe import Mechanism, Recipe, Stage
from assay.reward import Outcome
from assay.scale import Scale

WARM_UP = Mechanism(
    reward=(Outcome(right=1.0, wrong=0.0),),
    curate=(BestAnswers(most=1, above=0.0),),
    credit=Constant(value=1.0),
    objective=Objective(ratio=NoRatio(), gate=Open(), aggregate=TokenMean()),
)
ONLINE = Mechanism(
    reward=(Outcome(right=1.0, wrong=0.0),),
    credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
    objective=Objective(gate=Clip(low=0.2, high=0.2), aggregate=TokenMean()),
)

SQL_RLVR = Recipe(
    name="sql-rlvr",
    title="A State-of-the-Art SQL Reasoning Model using RLVR",
    paper="2509.21459",
    claim="a warm-up on the policy's best-scored answers, then RL on execution alone: 73.6 % on the private test of "
    "BIRD with one generation, the best of its track, and 75.7 % with self-consistency",
    missing="BIRD; the choice of prompts and models; self-consistency by result sets",
    tasks=("sql",),
    mechanism=ONLINE,
    scale=Scale(num_prompts=64, group_size=8, max_new=4096, learning_rate=1e-6, num_steps=200),
    stages=(
        Stage("warm-up", share=1, mechanism=WARM_UP),
        Stage("online", share=4),
    ),
    notes=(
        "The paper publishes no code and few numbers: the scale, the shares of the stages, and GRPO's form are ours.",
        "A query is right if its rows are those of the reference as a bag, on every one of 48 databases that are "
        "filled anew for the question.",
        "The warm-up trains on one right answer of each group, the best of n.",
    ),
    deviations=(
        "BIRD's measure compares sets of rows on one database, so that duplicates and accidents pass; here bags on "
        "many databases.",
        "The paper's warm-up (TAO) samples all answers first and then updates offline; here each step trains on the "
        "answers that it has just sampled.",
    ),
)
