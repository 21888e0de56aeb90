"""Rounds of tree search: the best answers train the policy, and pairs of steps a model that guides later searches."""

from assay.ask import FirstSteps, Rehearse
from assay.collect import StepSearch
from assay.credit import Constant
from assay.curate import NoTraining
from assay.memory import HoldTagged
from assay.methods.exploration.rstar_math.chosen import BEST, BestTrajectories, KeepPreferences
from assay.methods.exploration.rstar_math.prefer import PreferSteps
from assay.objective import NoRatio, Objective, Open, TokenMean
from assay.recipe import Mechanism, Recipe, Stage
from assay.scale import Model, Scale

FIT = Mechanism(
    ask=(Rehearse(name=BEST),),
    forwards=(PreferSteps(rate=5.0, num_epochs=4),),
    credit=Constant(value=1.0),
    objective=Objective(ratio=NoRatio(), gate=Open(), aggregate=TokenMean()),
)


def searching(*, most: int = 16, model: str = "") -> Mechanism:
    """A round of search, which trains nothing: `most` rollouts for problems that stay unsolved, guided by the model."""
    return Mechanism(
        ask=(FirstSteps(width=8, marks="\n,|"),),
        expand=(StepSearch(explore=2.0, rollouts=16, most=most, depth=16, errors=2, model=model),),
        curate=(BestTrajectories(most=2), NoTraining()),
        remember=(HoldTagged(tag=BEST), KeepPreferences(margin=0.5, visits=3)),
    )


SEARCH = searching()
GUIDED = searching(model="preference-model")
DEEPER = searching(most=64, model="preference-model")

RSTAR_MATH = Recipe(
    name="rstar-math",
    title="rStar-Math: Small LLMs Can Master Math Reasoning with Self-Evolved Deep Thinking",
    paper="2501.04519",
    claim="four rounds of tree search, with a policy and a process preference model that learn from it, raise "
    "Qwen2.5-Math-7B from 58.8 to 90.0 on MATH and solve 53.3 percent of AIME 2024, with search at the test",
    missing="the first round by a model of 236B, and blocks of Python of several lines in a step",
    tasks=("quantities-python", "search-stream", "quantities", "trace"),
    mechanism=FIT,
    scale=Scale(num_prompts=16, group_size=8, max_new=4096, learning_rate=7e-6, num_steps=400, warmup_steps=5),
    models={"policy": Model(), "preference-model": Model(output="value")},
    stages=(
        Stage("search 1", share=1, mechanism=SEARCH),
        Stage("fit 1", share=4, mechanism=FIT, start="base", optimiser="reset"),
        Stage("search 2", share=1, mechanism=SEARCH),
        Stage("fit 2", share=4, mechanism=FIT, start="base", optimiser="reset"),
        Stage("search 3", share=1, mechanism=GUIDED),
        Stage("fit 3", share=4, mechanism=FIT, start="base", optimiser="reset"),
        Stage("search 4", share=1, mechanism=DEEPER),
        Stage("fit 4", share=4, mechanism=FIT, start="base", optimiser="reset"),
    ),
    notes=(
        "Rounds, 2 answers of a tree by mean Q, 2 winners and 2 losers at each place and the score tanh(v) are the "
        "paper's; c = 2, depth 16, two errors in a row and a margin of 0.5 are those of the published code. Eight next "
        "steps, the scale and the shares of stages are ours; 16 rollouts, 64 for problems that stay unsolved, the "
        "rate and 128 answers a step of fitting are from memory of the paper.",
        "A rollout is a walk from the root that ends where all next steps have ended. All answers that end in one of "
        "its expansions count. By UCT a step without a visit has Q = 0 and no bonus, as in the published code: where "
        "the first step succeeds, those beside it are hardly tried. With a preference model every step has a visit, "
        "its score, and is tried.",
        "In quantities-python a step is a line of Python, in natural wording with words behind it as a comment. It "
        "runs in the sandbox behind the steps before it, and is wrong if it fails, as in the paper; a step of the "
        "paper may have several lines. The answer names variables, and is right if the program holds the right numbers "
        "under these names; in the paper the model reads what its program printed, and writes the number. On the other "
        "tasks the steps are no programs, and exact rules of the task verify them.",
        "A step ends at ',' or '|', or at the end of a line; answers have at most 16 steps, in the published code 16 "
        "and an ending one. Answers that end by two wrong steps, by 16 steps or by the limit have -1 for "
        "their last step alone, as in the published code. A task that cannot verify steps ends none of its answers "
        "early.",
        "The mean Q of an answer counts its last step too, whose Q is its outcome: of right answers it prefers short "
        "ones.",
        "Q of pairs and of answers is the mean of outcomes alone, so that no model learns from its own scores; in the "
        "paper the score counts too. Steps from fewer than 3 answers are in no pair (mechanism.remember.1.visits of "
        "a search), because their Q is noise. Equal steps from one node are one node; there is no least edit distance.",
        "The preference model begins each round from the base model and learns beside the policy: four optimiser steps "
        "on the pairs of `num_prompts` trees in each step, at five times the policy's rate, which are ours. In the "
        "paper it begins from the new policy. L is the mean over the pairs of a tree, then over trees.",
        "The base itself searches in the first round. Rounds draw new problems here, and the policy learns from the "
        "answers of all rounds; pairs of a problem are replaced when it is searched again.",
        "A search writes many times what plain sampling of as many problems does: compare at equal tokens. `assay "
        "search RUN` answers by a search that the preference model guides and judges.",
    ),
)
