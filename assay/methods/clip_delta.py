"""Scores of steps are clipped at a threshold and then taken as differences, so that further steps earn nothing."""

from assay.collect import ContinueSteps
from assay.curate import StatisticsOnly
from assay.curate.continued import CONTINUATION
from assay.recipe import Like
from assay.reward import Affine, Clipped, Delta, Outcome, SampledSteps

CLIP_DELTA = Like(
    "ppo",
    name="clip-delta",
    title="On Designing Effective RL Reward at Training Time for LLM Reasoning",
    paper="2410.15115",
    claim="scores of steps added to the success reward make policies repeat trivial steps; clipped and taken as "
    "differences they raise every model tried, by 0.86 on MATH for Qwen2-1.5B-Instruct, and less for stronger ones",
    missing="the process reward model, and outcome scores",
    changes={
        "tasks": ("search-stream", "quantities", "trace"),
        "mechanism.expand": (ContinueSteps(branches=8),),
        "mechanism.reward": (
            Outcome(right=1.0, wrong=0.0),
            Affine(
                of=Delta(
                    of=Clipped(of=Affine(of=SampledSteps(estimate="soft", last=True), plus=-0.5), low=-1.0, high=0.0)
                ),
                times=0.05,
            ),
        ),
        "mechanism.curate": (StatisticsOnly(tag=CONTINUATION),),
    },
    notes=(
        "r = 0.05 delta(min(p - 0.5, 0)), and the success reward at the end. The weight 0.05 and the threshold 0.5 are "
        "ours: the paper's were not found. PPO and its scale are those of `ppo`.",
        "The paper's process model learns from the share of right continuations after a step. Here this share itself "
        "is the score p, with eight continuations; each step of training samples them.",
        "What is still to come at step k, beside success, is its own clipped score times 0.05: never more than 0, "
        "however many steps follow.",
        "A truncated answer has its last step where it ends.",
    ),
)
