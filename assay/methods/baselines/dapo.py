"""GRPO with a higher upper clip, mixed groups alone, a mean over tokens and a soft penalty for overlong answers."""

from assay.collect import Refill
from assay.credit import GroupRelative
from assay.curate import FirstGroups, MixedGroups
from assay.objective import Clip, Objective, TokenMean
from assay.recipe import Mechanism, Recipe
from assay.reward import Outcome, SoftOverlong
from assay.scale import Scale

DAPO = Recipe(
    name="dapo",
    title="DAPO: An Open-Source LLM Reinforcement Learning System at Scale",
    paper="2503.14476",
    claim="clip-higher, dynamic sampling, a token-level loss and a soft penalty for overlong answers: 50 on AIME 2024 "
    "from Qwen2.5-32B in half the steps of DeepSeek-R1-Zero-Qwen-32B (47)",
    mechanism=Mechanism(
        expand=(Refill(max_rounds=10),),
        reward=(Outcome(right=1.0, wrong=-1.0), SoftOverlong(buffer=4096, factor=1.0)),
        curate=(MixedGroups(by="accuracy"), FirstGroups()),
        credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
        objective=Objective(gate=Clip(low=0.2, high=0.28, dual=10.0), aggregate=TokenMean()),
    ),
    scale=Scale(
        num_prompts=512,
        group_size=16,
        max_new=20480,
        learning_rate=1e-6,
        num_steps=300,
        oversample=3,
        num_minibatches=16,
        warmup_steps=160,
        weight_decay=0.1,
    ),
    notes=(
        "A group is mixed if its raw accuracy is: the shaped reward varies even in groups whose answers are all right.",
        "The dual clip of 10 is in the published recipe, not in the paper's formula.",
        "num_steps is ours. The published script warms up for 10 batches, which are 160 updates; the paper says 20.",
    ),
    deviations=(
        "When the cap of sampling rounds is reached, the step trains on the groups it has; the published code raises "
        "an error.",
        "verl averages over the tokens of a mini-batch, as here. The paper's formula is a mean over prompts of means "
        "over the tokens of a group (prompt-mean).",
    ),
)
