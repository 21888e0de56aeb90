"""The baseline of each step is the mean reward of answers that are sampled from where it begins; no critic."""

from assay.collect import ContinueSteps
from assay.credit import StepValues, Whiten
from assay.curate import StatisticsOnly
from assay.curate.continued import CONTINUATION
from assay.objective import KL, Clip, Objective, TokenMean
from assay.recipe import Mechanism, Recipe
from assay.reward import Outcome
from assay.scale import Scale

VINE_PPO = Recipe(
    name="vine-ppo",
    title="VinePPO: Refining Credit Assignment in RL Training of LLMs",
    paper="2410.01679",
    claim="values of steps from sampled continuations, in place of a critic, make PPO better on MATH and GSM8K in "
    "fewer updates and less time, although every step samples more",
    missing="a bound on the number of steps of an answer whose values are sampled",
    tasks=("search-stream", "quantities", "trace"),
    mechanism=Mechanism(
        expand=(ContinueSteps(branches=9, prompt=True),),
        reward=(Outcome(right=1.0, wrong=0.0),),
        curate=(StatisticsOnly(tag=CONTINUATION),),
        credit=StepValues(),
        shape=(Whiten(by="batch", ddof=1, epsilon=1e-8),),
        objective=Objective(
            gate=Clip(low=0.2, high=0.2),
            aggregate=TokenMean(),
            regularise=(KL(weight=1e-4, estimator="k3"),),
        ),
    ),
    scale=Scale(
        num_prompts=64,
        group_size=8,
        max_new=1024,
        learning_rate=1e-6,
        num_steps=1000,
        num_minibatches=8,
        num_epochs=2,
        temperature=0.6,
        top_p=0.9,
        warmup_steps=480,
    ),
    notes=(
        "Nine continuations, 64 questions of eight answers, updates of 64 answers in two passes, clip, KL, rate, the 3 "
        "% of the updates in which it warms up, and sampling are those of the published configuration for MATH and a "
        "model of 1B parameters. ddof and epsilon of the whitening are ours.",
        "Steps are lines, or end at ',' and '|' in compact wording (mechanism.expand.0.marks). The published code "
        "splits solutions of MATH by rules for sentences and formulas.",
        "A continuation may use the tokens that its answer left of the limit. A truncated one is a wrong answer.",
        "Continuations do not train. `reward/mean` and `reward/accuracy` count them; pass rates by level do not.",
        "At equal updates a step costs K times 9 more answers of falling length, where an answer has K steps: compare "
        "at equal tokens (`--scale.num-tokens`).",
    ),
)
