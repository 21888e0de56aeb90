"""Strictly on policy, in stages: one domain with growing lengths, then another domain, then the first one again."""

import dataclasses

from assay.ask import AnnealTemperature, Fewer, Shorter
from assay.credit import GroupRelative
from assay.curate import Untrained
from assay.memory import KeepExamined
from assay.objective import Clip, Objective, TokenMean
from assay.recipe import Mechanism, Recipe, Stage
from assay.scale import Scale
from assay.source import Examine, Only, Unsolved
from assay.stages import Plateau, Threshold

LONGEST = 32768  # tokens
HARD = 6 / 16  # the highest pass rate of a hard problem
MATHS = Mechanism(
    source=Only(tasks="first"),
    credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
    objective=Objective(gate=Clip(low=0.2, high=0.2), aggregate=TokenMean()),
)
EXAMINE = Mechanism(
    source=Examine(size=2048, most=1.0, tasks="first"), curate=(Untrained(role="policy"),), remember=(KeepExamined(),)
)
HARD_MATHS = dataclasses.replace(MATHS, source=Unsolved(size=2048, most=HARD, tasks="first"))
CODE = dataclasses.replace(MATHS, source=Only(tasks="others"))
LEFT_CODE = dataclasses.replace(
    MATHS,
    source=Unsolved(size=2048, most=0.99, tasks="others"),
    ask=(AnnealTemperature(first=0.6, last=1.0),),
    remember=(KeepExamined(),),
)
FLAT = Plateau("reward/accuracy", gain=0.005, window=100)
EXAMINED = Threshold("reward/accuracy", least=0.0, window=1)  # met after one step, whatever the accuracy


def within(tokens: int, mechanism: Mechanism, *, answers: float = 1.0, temperature: float = 1.0) -> Mechanism:
    """The mechanism with this limit, this share of the answers of a group and this temperature."""
    ask = (
        *((Fewer(share=answers),) if answers < 1 else ()),
        Shorter(share=tokens / LONGEST),
        *((AnnealTemperature(first=temperature, last=temperature),) if temperature != 1 else ()),
    )
    return dataclasses.replace(mechanism, ask=ask)


ACEREASON = Recipe(
    name="acereason",
    title="AceReason-Nemotron: Advancing Math and Code Reasoning through Reinforcement Learning",
    paper="2505.16400",
    claim="RL on mathematics with growing lengths, then on code: AIME24 from 55.5 to 69.0 with 7B, and LiveCodeBench "
    "v5 from 37.6 to 44.4 before any code was trained on, to 51.8 after it",
    missing="the curation of the data, and a rate of 5e-6 in the two stages of code",
    mechanism=MATHS,
    scale=Scale(num_prompts=128, group_size=16, max_new=LONGEST, learning_rate=1e-6, num_steps=4000),
    stages=(
        Stage("maths 8K", share=1500, mechanism=within(8192, MATHS, answers=0.5)),
        Stage("maths 16K", share=800, mechanism=within(16384, MATHS), when=FLAT),
        Stage("examine", share=100, mechanism=within(24576, EXAMINE), when=FLAT),
        Stage("hard maths 24K", share=401, mechanism=within(24576, HARD_MATHS), when=EXAMINED),
        Stage("code 24K", share=400, mechanism=within(24000, CODE, answers=0.5, temperature=0.6), when=FLAT),
        Stage("code 32K", share=400, mechanism=LEFT_CODE, when=FLAT),
        Stage("examine again", share=100, mechanism=EXAMINE, when=FLAT),
        Stage("hard maths 32K", share=299, mechanism=HARD_MATHS, when=EXAMINED),
    ),
    notes=(
        "Order, lengths, answers, temperatures of the code stages, one update a rollout, no KL penalty, no entropy "
        "bonus and the bound of 6 of 16 for hard problems are the paper's. A temperature of 1 for mathematics, the "
        "lengths of the stages, ddof and epsilon are ours.",
        "With one update a rollout the ratio is 1 and the clip does nothing: REINFORCE with the rewards of a group "
        "normalised.",
        "The first task of the pool stands for mathematics, the others for code: `--task mod-chain:4 --task "
        "dsl-deduction:3`. With one task all stages draw from it.",
        "Hard problems are those of a set of 2048 that one step examined, with all answers of a group: a step that "
        "trains on nothing. In the last stage of code a problem whose answers were all right at its last visit is not "
        "drawn again; the paper drops them by epochs. In that stage all 16 answers are asked for from the start, "
        "where the paper goes from 8 to 16.",
        "A stage ends when the accuracy has gained less than 0.005 over 100 steps, or with its share of the steps; the "
        "paper trains until convergence.",
        "In a run so short that a stage of examination has no step, the stage after it draws from the whole set.",
        "The paper grades problems of code by the failures of a stronger model, for its first stage of code; here a "
        "pool's levels say what is easy.",
    ),
)
