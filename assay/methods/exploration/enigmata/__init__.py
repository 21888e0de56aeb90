"""Puzzles of many kinds in one mix, with set ratios of easy, medium and hard levels; or the easy ones first."""

import dataclasses

from assay.credit import GAE, Constant, Whiten
from assay.forwards import Critic
from assay.methods.exploration.enigmata.bands import DifficultyMix, LevelRates
from assay.objective import Clip, Objective, TokenMean
from assay.recipe import Mechanism, Recipe, Stage
from assay.reward import Outcome
from assay.scale import Model, Scale

MIX = Mechanism(
    source=DifficultyMix(easy=1, medium=1, hard=1),
    reward=(Outcome(right=1.0, wrong=0.0),),
    forwards=(Critic(model="critic", gamma=1.0, lam=1.0, clip=0.5, rate=2.0, aggregate=TokenMean()),),
    credit=GAE(gamma=1.0, lam=0.95),
    shape=(Whiten(by="batch", ddof=1, epsilon=1e-8),),
    objective=Objective(gate=Clip(low=0.2, high=0.2), aggregate=TokenMean()),
    remember=(LevelRates(keep=0.9),),
)
VALUES = dataclasses.replace(MIX, credit=Constant(value=0.0), shape=())


def mixed(easy: int, medium: int, hard: int) -> Mechanism:
    """The mechanism with other ratios."""
    return dataclasses.replace(MIX, source=DifficultyMix(easy=easy, medium=medium, hard=hard))


ENIGMATA = Recipe(
    name="enigmata",
    title="Enigmata: Scaling Logical Reasoning in Large Language Models with Synthetic Verifiable Puzzles",
    paper="2505.19914",
    claim="many kinds of puzzles with generators and verifiers, mixed in set ratios of difficulty, raise a 32B model "
    "above o3-mini-high and o1 on puzzles and to 32.8 on ARC-AGI",
    missing="rejection fine-tuning on long chains of thought, 30 of the 36 kinds of puzzles (`gym:NAME` has others), "
    "and the benchmark",
    tasks=("binario", "kakurasu", "stack", "countdown", "path", "knights"),
    mechanism=MIX,
    scale=Scale(num_prompts=512, group_size=8, max_new=16384, learning_rate=1e-6, num_steps=500, num_minibatches=4),
    models={"policy": Model(), "critic": Model(output="value")},
    stages=(Stage("values", share=0.05, mechanism=VALUES), Stage("mix", share=0.95)),
    notes=(
        "The kinds are the shares of the pool, each with its levels: `--task binario:1,2,3 --task kakurasu:3,4 --task "
        "stack:4,5,6 --task countdown:3,4 --task path:3,4 --task knights:5,6`. `=WEIGHT` draws one more often.",
        "A level is easy, medium or hard by its measured pass rate; before it was tried, by its place among the levels "
        "of its share. A band without levels gives its ratio to the others.",
        "VC-PPO, a pre-trained critic with whole returns and a smaller lambda for the policy, is the paper's; its "
        "values (2503.01491) and the scale are from memory or ours. The paper does not give its ratios: equal ones, "
        "the bounds of 0.75 and 0.25 and the shares of the stages are ours.",
        "Games of 24 are `countdown`, mazes `path`, knights and knaves `knights`.",
    ),
    deviations=(
        "Verifiers of the published suite evaluate expressions of the model with `eval`; here answers are parsed.",
    ),
)

ENIGMATA_STAGED = dataclasses.replace(
    ENIGMATA,
    name="enigmata-staged",
    claim="easy puzzles first, then harder ones",
    stages=(
        Stage("values", share=0.05, mechanism=VALUES),
        Stage("easy", share=0.3, mechanism=mixed(easy=3, medium=1, hard=0)),
        Stage("medium", share=0.3, mechanism=mixed(easy=1, medium=3, hard=1)),
        Stage("hard", share=0.35, mechanism=mixed(easy=1, medium=1, hard=3)),
    ),
    notes=(*ENIGMATA.notes, "The ratios of the stages are ours; the paper's stages add kinds of puzzles, too."),
)
