"""Rounds of tree search, whose best answers train the policy and whose pairs of steps a model that guides the search"""

from assay.ask import FirstSteps, Rehearse
from assay.credit import Constant
from assay.curate import NoTraining
from assay.memory import HoldTagged
from assay.methods.rstar_math.chosen import BEST, BestTrajectories, KeepPreferences
from assay.methods.rstar_math.prefer import PreferSteps
from assay.methods.rstar_math.search import StepSearch
from assay.objective import NoRatio, Objective, Open, TokenMean
from assay.recipe import Mechanism, Recipe, Stage
from assay.scale import Model, Scale

FIT = Mechanism(
    ask=(Rehearse(name=BEST),),
    forwards=(PreferSteps(rate=5.0, num_epochs=4),),
    credit=Constant(value=1.0),
    objective=Objective(ratio=NoRatio(), gate=Open(), aggregate=TokenMean()),
)


def searching(**changes: object) -> Mechanism:
    """A round of search, which trains nothing."""
    return Mechanism(
        ask=(FirstSteps(width=8, marks="\n,|"),),
        expand=(StepSearch(explore=2.0, depth=16, **changes),),
        curate=(BestTrajectories(most=2), NoTraining()),
        remember=(HoldTagged(tag=BEST), KeepPreferences(margin=0.5, visits=3)),
    )


SEARCH = searching(rollouts=16, most=16)
GUIDED = searching(rollouts=16, most=16, model="preference-model")
DEEPER = searching(rollouts=16, most=64, model="preference-model")

RSTAR_MATH = Recipe(
    name="rstar-math",
    title="rStar-Math: Small LLMs Can Master Math Reasoning with Self-Evolved Deep Thinking",
    paper="2501.04519",
    claim="four rounds of tree search, with a policy and a process preference model that learn from it, raise "
    "Qwen2.5-Math-7B from 58.8 to 90.0 on MATH and solve 53.3 percent of AIME 2024, with search at the test",
    missing="the search when answering, which the preference model guides, and Python in each step",
    tasks=("search-stream", "quantities", "trace"),
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
)
