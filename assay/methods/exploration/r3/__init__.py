"""Answers start from states inside demonstrations, with PPO and a critic."""

import dataclasses

from assay.credit import GAE, Whiten
from assay.forwards import Critic, TokenKL
from assay.methods.exploration.r3.starts import StartStates
from assay.objective import Clip, Objective, SequenceMean
from assay.recipe import Mechanism, Recipe, Stage
from assay.reward import PartialOutcome
from assay.scale import Model, Scale

STATES = 6

R3 = Recipe(
    name="r3",
    title="Training Large Language Models for Reasoning through Reverse Curriculum Reinforcement Learning",
    paper="2402.05808",
    claim="PPO from start states inside demonstrations makes outcome rewards act like step rewards: 4.1 points above "
    "plain RL on eight tasks with Llama2-7B",
    mechanism=Mechanism(
        ask=(StartStates(low=0.0, high=1.0),),
        reward=(PartialOutcome(right=1.0, readable=0.2, wrong=0.0),),
        forwards=(TokenKL(weight=0.05), Critic(model="critic", gamma=1.0, lam=0.95, clip=0.2, rate=1.0)),
        credit=GAE(gamma=1.0, lam=0.95),
        shape=(Whiten(by="batch", ddof=1, epsilon=1e-8),),
        objective=Objective(gate=Clip(low=0.2, high=0.2), aggregate=SequenceMean()),
    ),
    scale=Scale(
        num_prompts=32,
        group_size=1,
        max_new=700,
        learning_rate=3e-7,
        num_steps=500,
        num_epochs=2,
    ),
    models={
        "policy": Model(),
        "critic": Model(output="value"),
        "reference": Model(trained=False),
    },
    notes=(
        "Values are those of the released script for GSM8K (4 rows on each of 8 devices, 2 epochs, KL 0.05, clips "
        "0.2); num_steps is ours.",
        "The release has one network with two heads and weighs the value loss by 5. Here the critic is a parameter "
        "set of its own with its own optimiser, for which that weight makes no difference; it starts from the "
        "policy's weights.",
        "This is the mixed variant, the paper's method; `r3-staged` is the sliding variant of its ablation. Here "
        "problems are drawn first and then a start state, uniformly. The release lists all pairs of problem and "
        "state, so that problems with more steps come more often.",
        "The given steps are tokens that the policy did not write: they have no loss, no value and no KL penalty, as "
        "in the release, where they are part of the prompt.",
        "shape.by=tag whitens each quarter of the way to the solution by itself, because late start states nearly "
        "always succeed.",
        "The paper starts policy, critic and reference policy from a model fine-tuned on the same demonstrations: "
        "take a base whose tasks are those of the pool.",
    ),
)

R3_STAGED = dataclasses.replace(
    R3,
    name="r3-staged",
    claim="start states slide from the end of the demonstration to its beginning, stage by stage",
    stages=tuple(
        Stage(
            f"from {place}/{STATES}",
            mechanism=dataclasses.replace(R3.mechanism, ask=(StartStates(low=place / STATES, high=place / STATES),)),
        )
        for place in range(STATES - 1, -1, -1)
    ),
    notes=(*R3.notes, "Six stages of equal length are ours; the last stage starts from the question alone."),
)
