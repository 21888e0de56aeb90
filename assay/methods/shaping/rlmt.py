"""A preference model, which does not see the reasoning, rewards the answer that follows it."""

from assay.ask import Templated
from assay.credit import GroupRelative
from assay.curate import Untrained
from assay.forwards import RewardModel
from assay.objective import KL, Clip, Entropy, Objective, TokenMean
from assay.recipe import Mechanism, Recipe, Stage
from assay.reward import LearntScore, Outcome
from assay.scale import Model, Scale

PREFER = Mechanism(
    ask=(Templated(),),
    curate=(Untrained(role="policy"),),
    forwards=(RewardModel(of=Outcome(), loss="pairs", sees="answer", rate=5.0, num_epochs=4),),
)

RLMT = Recipe(
    name="rlmt",
    title="Language Models that Think, Chat Better",
    paper="2509.20357",
    claim="reasoning before an answer that a preference model rewards: 3 to 7 points on three chat benchmarks over "
    "the same training without reasoning, in over 40 runs",
    missing="chats and a preference model of people's taste, the warm start on 6000 reasoned answers, and its arms "
    "with DPO and PPO",
    mechanism=Mechanism(
        ask=(Templated(),),
        reward=(LearntScore(sees="answer"),),
        credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
        objective=Objective(
            gate=Clip(low=0.2, high=0.2),
            aggregate=TokenMean(),
            regularise=(KL(weight=1e-3, estimator="k3"), Entropy(weight=1e-3)),
        ),
    ),
    scale=Scale(num_prompts=64, group_size=8, max_new=4096, learning_rate=1e-6, num_steps=135, temperature=0.7),
    models={"policy": Model(), "reward-model": Model(output="value")},
    stages=(Stage("prefer", share=0.2, mechanism=PREFER), Stage("train", share=0.8)),
    notes=(
        "Values of the second stage are those of the published configuration for GRPO. num_steps is where the authors "
        "stop, because the preference model is exploited later; ddof, epsilon and the shares of the stages are ours.",
        "In the first stage the policy answers and does not train; the preference model learns from pairs of answers "
        "to one question: four optimiser steps on the answers of each step, at five times the policy's rate, which is "
        "ours. A right answer is preferred to a wrong one: verdicts stand for the preferences of people. "
        "`--stages.0.mechanism.forwards.0.of` takes another reward, such as the score of a reward function. Then the "
        "preference model is fixed, as in the paper.",
        "A small preference model is soon exploited: on countdown, where it had learnt from six steps, its reward rose "
        "and accuracy fell from 0.23 to 0.02 in 24 steps; after twenty steps of learning it fell to 0.16.",
        "The model sees the question and what follows `</think>`, or '#' in compact wording. To it, reasoning without "
        "this mark is an empty answer, which is the paper's strict mode; in the other mode it would see the reasoning.",
    ),
)
