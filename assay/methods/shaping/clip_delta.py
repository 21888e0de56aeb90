"""Scores of steps are clipped at a threshold and then taken as differences, so that further steps earn nothing."""

from assay.collect import ContinueSteps
from assay.curate import Untrained
from assay.forwards import RewardModel
from assay.recipe import Like, Mechanism, Stage
from assay.reward import Affine, Clipped, Delta, LearntSteps, Outcome, SampledSteps, Squashed
from assay.scale import Model

LABELS = Mechanism(
    expand=(ContinueSteps(branches=8),),
    curate=(Untrained(role="policy"),),
    forwards=(RewardModel(of=SampledSteps(estimate="soft", last=True), loss="labels", rate=5.0, num_epochs=4),),
)

CLIP_DELTA = Like(
    "ppo",
    name="clip-delta",
    title="On Designing Effective RL Reward at Training Time for LLM Reasoning",
    paper="2410.15115",
    claim="scores of steps added to the success reward make policies repeat trivial steps; clipped and taken as "
    "differences they raise every model tried, by 0.86 on MATH for Qwen2-1.5B-Instruct, and less for stronger ones",
    missing="rewards by a model of outcomes, which the paper finds to change nothing",
    changes={
        "tasks": ("search-stream", "quantities", "trace"),
        "mechanism.reward": (
            Outcome(right=1.0, wrong=0.0),
            Affine(
                of=Delta(of=Clipped(of=Affine(of=Squashed(of=LearntSteps()), plus=-0.5), low=-1.0, high=0.0)),
                times=0.05,
            ),
        ),
        "models": {"policy": Model(), "critic": Model(output="value"), "reward-model": Model(output="value")},
        "stages": (Stage("label", share=0.2, mechanism=LABELS), Stage("train", share=0.8)),
    },
    notes=(
        "r = 0.05 delta(min(p - 0.5, 0)), and the success reward at the end. The weight 0.05 and the threshold 0.5 are "
        "ours: the paper's were not found. PPO and its scale are those of `ppo`.",
        "In the first stage the policy answers and does not train; a step model learns p, the share of eight "
        "continuations after a step that are right: four optimiser steps on the answers of each step, at five times "
        "the policy's rate, which is ours. In the paper another model writes the continuations. Then the step model is "
        "fixed, as in the paper; `math-shepherd` rewards the shares themselves.",
        "What is still to come at step k, beside success, is its own clipped score times 0.05: never more than 0, "
        "however many steps follow.",
        "A truncated answer has its last step where it ends.",
    ),
)
