"""Worked solutions are imitated: the mean log-likelihood of their tokens."""

from assay.ask import Demonstrate
from assay.credit import Constant
from assay.objective import NoRatio, Objective, Open, TokenMean
from assay.recipe import Mechanism, Recipe
from assay.scale import Scale

SFT = Recipe(
    name="sft",
    title="Supervised fine-tuning on worked solutions",
    paper="-",
    claim="likelihood of demonstrations, which is the policy gradient with reward 1 for the demonstrated answer and "
    "weight 1/pi",
    mechanism=Mechanism(
        ask=(Demonstrate(),),
        credit=Constant(value=1.0),
        objective=Objective(ratio=NoRatio(), gate=Open(), aggregate=TokenMean(), injected="train"),
    ),
    scale=Scale(
        num_prompts=512,
        group_size=1,
        max_new=1024,
        learning_rate=1e-5,
        num_steps=500,
        schedule="cosine",
        warmup_steps=20,
        beta2=0.95,
    ),
    notes=("The scale is ours.",),
)
