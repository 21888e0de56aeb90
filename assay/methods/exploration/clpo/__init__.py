"""The policy rewrites the problems that the step's own answers show to be hard or medium, and solves them at once."""

import dataclasses

from assay.credit import GroupRelative, Score
from assay.curate import MixedGroups, Untrained
from assay.methods.exploration.clpo.gain import AccuracyGain
from assay.methods.exploration.clpo.rewrite import ROLE, Rewrite
from assay.objective import KL, Clip, Objective, TokenMean
from assay.recipe import Mechanism, Recipe, Rule
from assay.scale import Scale

GOAL = Objective(gate=Clip(low=0.2, high=0.2), aggregate=TokenMean(), regularise=(KL(weight=0.001, estimator="k3"),))
READ = Rule(ROLE, verified=False, reward=(AccuracyGain(),), credit=Score(), objective=GOAL)

CLPO = Recipe(
    name="clpo",
    title="CLPO: Curriculum Learning meets Policy Optimization for LLM Reasoning",
    paper="2509.25004",
    claim="problems that the policy restructures by their measured difficulty: 6.96 points of pass@1 above other "
    "methods, on average over eight benchmarks with Qwen3-8B",
    missing="a weight of the KL penalty by difficulty (1 for all in the released script)",
    mechanism=Mechanism(
        expand=(Rewrite(hard=0.3, medium=0.7),),
        curate=(Untrained(role=ROLE), MixedGroups(by="accuracy")),
        credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
        objective=GOAL,
        rules=(READ,),
    ),
    scale=Scale(num_prompts=64, group_size=4, max_new=8192, learning_rate=1e-6, num_steps=500, num_minibatches=8),
    roles={"policy": "policy", ROLE: "policy"},
    notes=(
        "Bands, prompts, answers, KL penalty, rate, mini-batches of 8 prompts and length are those of the released "
        "code; num_steps, ddof and epsilon are ours.",
        "With four answers hard means none or one right, medium two right.",
        "Original and rewritten groups train if they are mixed. So a rewritten problem that became so easy that every "
        "answer is right teaches nothing, as in the release.",
        "The answers to a rewritten problem are compared with each other alone. In the release they seem to share the "
        "group of the original.",
        "A text that contains the answer (of three characters or more), repeats the question or was cut is not asked; "
        "the release does not check. Nothing checks that the new problem has the old answer.",
        "The wording of the prompts is ours, and so is the limit of 1024 tokens for a rewritten problem. In compact "
        "wording the rewriter is asked by the answer and a sign behind the question: a small model that was never "
        "shown rewritten problems writes none that is of use, and then the run is GRPO on mixed groups.",
    ),
)

CLPO_REWRITER = dataclasses.replace(
    CLPO,
    name="clpo-rewriter",
    claim="the rewriter learns too: 10.21 points over GRPO and 7.75 over DAPO with Qwen3-8B",
    missing="",
    mechanism=dataclasses.replace(CLPO.mechanism, curate=(MixedGroups(by="accuracy"),)),
    notes=(
        *CLPO.notes,
        "The paper's second version also trains the texts of the rewriter, by the accuracy on the new problem less "
        "that on the old one. That this gain is the advantage itself, without a further baseline, is ours.",
    ),
)
