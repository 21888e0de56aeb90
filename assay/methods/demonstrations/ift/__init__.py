"""The learner reads its own guesses beside the demonstration; a token is weighted by the loss that follows it."""

from assay.methods.demonstrations.ift.guesses import Guesses
from assay.methods.demonstrations.ift.loss import Propagated
from assay.objective import SequenceMean
from assay.recipe import Like

IFT = Like(
    "sft",
    name="ift",
    title="Intuitive Fine-Tuning: Towards Simplifying Alignment into a Single Process",
    paper="2405.11870",
    claim="one pass over demonstrations that also reads the model's own guesses: 59.61 on average on the Open LLM "
    "Leaderboard with Mistral-7B, where SFT gives 58.65 and DPO 58.28",
    changes={
        "mechanism.forwards": (Guesses(share=0.2),),
        "mechanism.objective.whole": Propagated(gamma=0.95, form="product"),
        "mechanism.objective.aggregate": SequenceMean(),
        "scale.learning_rate": 5e-7,
        "scale.num_steps": 717,
        "scale.warmup_steps": 108,
        "scale.beta1": 0.0,
        "scale.beta2": 0.99,
        "scale.clip_norm": 10.0,
    },
    notes=(
        "Share, gamma, the rate, the batch of 512, the clip, 15 % of warm-up and 717 updates (three epochs of twice "
        "61136 demonstrations) are those of the published code and script.",
        "The published optimiser is RMSprop. Here it is Adam without a first moment; Adam corrects the second moment "
        "for its start, so that the first updates are smaller than RMSprop's.",
        "A token's weight is the discounted loss of the tokens from it on, with a gradient. With share and gamma "
        "exactly 0 the method is SFT with a mean over answers and without a gradient into the embeddings of the "
        "input; a small gamma is not close to that.",
        "No gradient flows back through the embeddings of the input, those of the question included; the published "
        "code achieves that by a copy of the embeddings, renewed after every update. The question and an "
        "environment's replies are never replaced by guesses.",
        "The gradient of the weight makes tokens less sure that are much surer than the rest of their answer. Thirty "
        "steps on short expressions (countdown) raise the loss of their end token from 0.003 to 0.9; with "
        "`form=detached` to 0.01.",
        "Guesses are those of the weights before the first update of a step: one more forward pass, without gradient.",
    ),
    deviations=(
        "The paper prints the double sum - sum_n sum_{i >= n} log p_i, which weighs late tokens most. The published "
        "code multiplies a token's loss by its own discounted future loss, which weighs early tokens most. `form=sum` "
        "is the paper's double sum.",
    ),
)
