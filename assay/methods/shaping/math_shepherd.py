"""Each step earns a reward by whether right answers were sampled from its end; no person labels steps."""

from assay.collect import ContinueSteps
from assay.curate import StatisticsOnly
from assay.curate.continued import CONTINUATION
from assay.recipe import Like
from assay.reward import Outcome, SampledSteps

MATH_SHEPHERD = Like(
    "ppo",
    name="math-shepherd",
    title="Math-Shepherd: Verify and Reinforce LLMs Step-by-step without Human Annotations",
    paper="2312.08935",
    claim="PPO with a reward for every step, from continuations sampled after it: Mistral-7B from 77.9 to 84.1 "
    "on GSM8K and from 28.6 to 33.0 on MATH",
    missing="the use of a process reward model to pick among answers",
    changes={
        "tasks": ("search-stream", "quantities", "trace"),
        "mechanism.expand": (ContinueSteps(branches=8),),
        "mechanism.reward": (Outcome(right=1.0, wrong=0.0), SampledSteps(estimate="hard", last=False)),
        "mechanism.curate": (StatisticsOnly(tag=CONTINUATION),),
    },
    notes=(
        "Eight continuations and hard labels are the paper's. There another model writes them once, and a process "
        "model learns from them and gives the rewards; here the policy writes them in every step, and the labels "
        "themselves are the rewards, so that they are never stale. PPO and its scale are those of `ppo`.",
        "A step of which a lucky continuation is right counts as good: `--mechanism.reward.1.estimate soft` takes the "
        "share of right ones.",
        "The last step has the outcome as its score; `reward/mean` is that of outcomes.",
        "No score is negative, so that an answer earns more by more steps; `clip-delta` bounds what steps earn.",
    ),
)
