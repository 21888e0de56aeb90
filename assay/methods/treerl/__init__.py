"""Answers fork at surprising tokens, and credit comes from the success of subtrees."""

from assay.ask import Trunks
from assay.collect import Fork
from assay.methods.treerl.credit import TreeRelative
from assay.methods.treerl.draw_leaves import DrawLeaves
from assay.objective import Clip, Objective, SequenceMean
from assay.recipe import Mechanism, Recipe
from assay.reward import Outcome
from assay.scale import Scale

TREERL = Recipe(
    name="treerl",
    title="TreeRL: LLM Reinforcement Learning with On-Policy Tree Search",
    paper="2506.11902",
    claim="trees that fork at surprising tokens, with credit from the success of subtrees and no process model, beat "
    "chains with outcome rewards at an equal number of generated tokens on six math and code benchmarks",
    missing="its punishment of repetitive answers",
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
        "Six trunks, two places a tree, two branches a place: 30 leaves, of which 16 train. Trunks follow group_size.",
        "Forks, values, loss and scale are those of the published code: subtree values divided by root k of the "
        "selected leaves, then by the number of leaves. The paper's text writes the second division into the mean.",
        "Surprise is not entropy: it picks rare tokens even where the policy is sure. `by = entropy` is the other.",
        "A token that marks the answer is the last place of its leaf. 'answer' and 'conclusion' are the code's words; "
        "'#' and \\boxed mark answers in the tasks here.",
        "A branch may use what its trunk left of the answer limit; the published code gives it the whole limit and "
        "cuts afterwards. The code also punishes repetitive answers, which is left out here.",
        "A fork at the first token of a trunk shares nothing: its branches hang from the root, where the code puts an "
        "empty node between. num_steps is ours.",
    ),
)
