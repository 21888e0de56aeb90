"""The likelihood of each demonstrated token is weighted by the token's own probability."""

from assay.objective import Probability
from assay.objective.gates import Plain
from assay.recipe import Like

DFT = Like(
    "sft",
    name="dft",
    title="On the Generalization of SFT: A Reinforcement Learning Perspective with Reward Rectification",
    paper="2508.05629",
    claim="SFT with each token weighted by its own probability: +15.66 on average over Qwen2.5-Math-1.5B on five "
    "mathematics sets, where SFT gives +2.09",
    changes={
        "mechanism.objective.ratio": Probability(),
        "mechanism.objective.gate": Plain(),
        "scale.learning_rate": 5e-5,
        "scale.num_prompts": 256,
    },
    notes=(
        "The weight pi has no gradient. With one the objective would be pi log pi.",
        "The gradient is that of the sum of the demonstrated tokens' probabilities, which DFT therefore raises.",
        "The learning rate 5e-5 and the batch of 256 are the paper's; the other numbers are ours.",
    ),
    deviations=(
        "The newest published code raises the weight of some kinds of words to exponents of their own (0.3 for "
        "numbers) by default; in the paper and here all exponents are 1.",
    ),
)
