"""Calls of tools are compared with the reference by names, keys and values, beside a reward for the format."""

from assay.ask import Templated
from assay.credit import GroupRelative
from assay.methods.shaping.toolrl.match import CallMatch
from assay.objective import Clip, Objective, SequenceMean
from assay.recipe import Like, Mechanism, Recipe
from assay.reward import Affine, Outcome, WellFormed
from assay.scale import Scale

TOOLRL = Recipe(
    name="toolrl",
    title="ToolRL: Reward is All Tool Learning Needs",
    paper="2504.13958",
    claim="a reward by names, keys and values of the calls is 17% above the base model and 15% above fine-tuning on "
    "BFCL, API-Bank and Bamboogle, and above a reward for exact calls alone",
    mechanism=Mechanism(
        ask=(Templated(),),
        reward=(WellFormed(right=1.0, wrong=0.0), CallMatch()),
        credit=GroupRelative(scale="std", ddof=1, epsilon=1e-6),
        objective=Objective(gate=Clip(low=0.2, high=0.2), aggregate=SequenceMean()),
    ),
    scale=Scale(num_prompts=512, group_size=4, max_new=1024, learning_rate=1e-6, num_steps=105, num_minibatches=4),
    notes=(
        "The reward is from -3 to 4: 1 for the format, and -3 to 3 for the calls. There is no KL, as in "
        "the paper; the released script has one in the reward.",
        "The scale is that of the published script, which GDPO's was made from; SequenceMean and ddof are ours.",
    ),
    deviations=("The format is R1's template with a box; the paper's has the fields <tool_call> and <response>.",),
    missing="format and calls weighted by the training step, and the length reward, which the paper finds harmful",
    tasks=("calls",),
)

TOOLRL_COARSE = Like(
    "toolrl",
    name="toolrl-exact",
    claim="the paper's ablation: exact calls alone are a weaker reward than names, keys and values",
    changes={
        "mechanism.reward": (WellFormed(right=1.0, wrong=0.0), Affine(of=Outcome(), times=6.0, plus=-3.0, name="exact"))
    },
)
