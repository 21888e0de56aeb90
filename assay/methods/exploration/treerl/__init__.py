"""Answers fork at tokens of high surprisal, and a token's advantage comes from the success of the subtree below it."""

from assay.ask import Trunks
from assay.collect import Fork
from assay.methods.exploration.treerl.credit import TreeRelative
from assay.methods.exploration.treerl.draw_leaves import DrawLeaves
from assay.objective import Clip, Objective, SequenceMean
from assay.recipe import Mechanism, Recipe
from assay.reward import Outcome
from assay.scale import Scale

TREERL = Recipe(
    name="treerl",
    title="TreeRL: LLM Reinforcement Learning with On-Policy Tree Search",
    paper="2506.11902",
    claim="trees that fork at tokens of high surprisal, with credit from the success of subtrees and no process "
    "model, beat chains with outcome rewards at an equal number of generated tokens on six math and code benchmarks",
    missing="the paper's penalty for repetitive answers",
    mechanism=Mechanism(
        ask=(Trunks(share=6 / 16),),
        expand=(
            Fork(
                places=2,
                branches=2,
                rounds=1,
                by="surprisal",
                among=2,
                skip=0,
                letters=0,
                until=("answer", "conclusion", "#", "\\boxed"),
            ),
        ),
        reward=(Outcome(right=1.0, wrong=0.0),),
        curate=(DrawLeaves(),),
        credit=TreeRelative(share="root", terms="both"),
        objective=Objective(gate=Clip(low=0.2, high=0.26), aggregate=SequenceMean()),
    ),
    scale=Scale(
        num_prompts=16,
        group_size=16,
        max_new=8192,
        learning_rate=1.5e-6,
        num_steps=1000,
        temperature=1.2,
        top_p=0.95,
        weight_decay=0.1,
    ),
    notes=(
        "Each of six trunks forks at two places into two branches: 30 leaves, of which 16 train. "
        "The number of trunks follows group_size.",
        "Forks, values, loss and scale are those of the published code: values of subtrees are divided by the root of "
        "k, the number of selected leaves, then by the number of leaves. The paper's text has the second division "
        "inside the mean.",
        "Surprisal is not entropy: it picks rare tokens even where the policy is sure. `by = entropy` picks by "
        "entropy.",
        "A leaf does not fork after the token that marks its answer. 'answer' and 'conclusion' are the code's marks; "
        "'#' and \\boxed mark answers in the tasks here.",
        "A branch may use the tokens that its trunk left of the answer limit; the published code gives a branch the "
        "whole limit and cuts afterwards. The published code also penalises repetitive answers; here that is left "
        "out.",
        "A fork at the first token of a trunk shares no token: its branches hang from the root, where the code puts "
        "an empty node between. num_steps is ours.",
    ),
)
