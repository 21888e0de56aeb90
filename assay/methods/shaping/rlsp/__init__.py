"""Beside the reward for a right answer, a reward for long thinking that is paid whether the answer is right or not."""

import dataclasses

from assay.credit import GAE, Constant, Whiten
from assay.forwards import Critic, TokenKL
from assay.methods.shaping.rlsp.effort import Effort
from assay.objective import Clip, Objective, SequenceMean
from assay.recipe import Mechanism, Recipe, Stage
from assay.reward import PartialOutcome
from assay.scale import Model, Scale

LEARN = Mechanism(
    reward=(PartialOutcome(right=1.0, readable=0.0, wrong=-0.5), Effort(cost=1000.0, least=-10.0)),
    forwards=(TokenKL(weight=0.05), Critic(model="critic", gamma=1.0, lam=0.95, clip=0.2, rate=10.0)),
    credit=GAE(gamma=1.0, lam=0.95),
    shape=(Whiten(by="batch", ddof=1, epsilon=1e-8),),
    objective=Objective(gate=Clip(low=0.2, high=0.2), aggregate=SequenceMean()),
)

RLSP = Recipe(
    name="rlsp",
    title="On the Emergence of Thinking in LLMs I: Searching for the Right Intuition",
    paper="2502.06773",
    claim="an exploration reward that does not ask for a right answer lets backtracking and verification emerge: 23% "
    "on MATH-500 with Llama-3.1-8B-Instruct",
    missing="the judge of effort that is a fifth of the reward of the 32B run, and the fine-tuning on demonstrations",
    mechanism=LEARN,
    scale=Scale(
        num_prompts=512,
        group_size=1,
        max_new=4096,
        learning_rate=2e-7,
        num_steps=500,
        num_minibatches=4,
        temperature=0.7,
    ),
    models={"policy": Model(), "critic": Model(output="value"), "reference": Model(trained=False)},
    stages=(
        Stage("values", share=4, mechanism=dataclasses.replace(LEARN, credit=Constant(value=0.0), shape=())),
        Stage("learn", share=496),
    ),
    notes=(
        "Rewards, C = 1000, the KL penalty, lambda, clips, both rates, one answer a prompt, batches of 128 of 512, "
        "temperature and length are those of the released run of the 8B model; num_steps is ours, and so are whitening "
        "and aggregation, which are the framework's defaults.",
        "A wrong answer has 0, an answer that cannot be read -0.5. In compact wording every text can be read, so that "
        "this difference is lost.",
        "The release counts the characters before the box and divides by four; here the tokens that the policy wrote "
        "count. It pays 0 where its scorer fails; here such an answer has no reward.",
        "The exploration reward is bounded by -10; the release bounds the sum. C goes in proportion to the limit of "
        "answers. For a small model take half of its mean length before training.",
        "A right short answer is worth less than a wrong long one if C (1 / L - 1 / L') is above 1. A cut answer "
        "gains length too: only the limit ends endless text.",
        "In the first 4 steps only the critic learns.",
    ),
)
