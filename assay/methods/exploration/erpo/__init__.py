"""Solved prompts keep a gradient through an imaginary failure, and are sampled at a higher temperature."""

from assay.collect import Refill
from assay.curate import FirstGroups
from assay.methods.exploration.erpo.pseudo import PseudoFailure
from assay.methods.exploration.erpo.solved import SolvedGroups
from assay.methods.exploration.erpo.temperature import OwnTemperature
from assay.methods.exploration.erpo.track import TrackTemperature
from assay.objective import Clip, Objective, TokenMean
from assay.recipe import Mechanism, Recipe
from assay.reward import Outcome, SoftOverlong
from assay.scale import Scale
from assay.source import Epochs

ERPO = Recipe(
    name="erpo",
    title="Explore Data Left Behind in Reinforcement Learning for Reasoning Language Models",
    paper="2511.04800",
    claim="prompts that are always solved keep a gradient, and a temperature that rises with a prompt's history makes "
    "mistakes appear: above DAPO on Qwen2.5-3B and 7B",
    mechanism=Mechanism(
        source=Epochs(size=2048),
        ask=(OwnTemperature(),),
        expand=(Refill(max_rounds=10, wanted="solved"),),
        reward=(Outcome(right=1.0, wrong=-1.0), SoftOverlong(buffer=4096, factor=1.0)),
        curate=(SolvedGroups(), FirstGroups()),
        credit=PseudoFailure(failure=-1.0, ddof=1, epsilon=1e-6),
        objective=Objective(gate=Clip(low=0.2, high=0.28, dual=10.0), aggregate=TokenMean()),
        remember=(TrackTemperature(step=0.05, highest=1.3),),
    ),
    scale=Scale(
        num_prompts=512,
        group_size=16,
        max_new=20480,
        learning_rate=1e-6,
        num_steps=175,
        oversample=3,
        num_minibatches=16,
        warmup_steps=160,
        weight_decay=0.1,
    ),
    notes=(
        "From the paper: the history of each prompt, a temperature that rises while all its answers are right, the "
        "gradient for such prompts, DAPO as the base, 175 steps. We have not read the published code.",
        "Ours: the form of the imaginary failure and its reward (that of a wrong answer), the temperature step of "
        "0.05, the cap of 1.3, one step down when a group is mixed, and the 2048 problems. The other values are "
        "DAPO's.",
        "Old and new log-probs are computed at the temperature at which the answer was sampled.",
        "Without the rising temperature the imaginary failure only reinforces prompts that are solved already.",
    ),
)
