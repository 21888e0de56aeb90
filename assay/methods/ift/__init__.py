"""The learner reads its own guesses beside the answer, and a token answers for what is lost after it."""

from assay.methods.ift.guesses import Guesses
from assay.methods.ift.loss import Propagated
from assay.objective import SequenceMean
from assay.recipe import Like

IFT = Like(
    "sft",
    name="ift",
    title="Intuitive Fine-Tuning: Towards Simplifying Alignment into a Single Process",
    paper="2405.11870",
    claim="one pass over demonstrations that reads its own guesses too: 59.61 on average on the Open LLM Leaderboard "
    "with Mistral-7B, where SFT gives 58.65 and DPO 58.28",
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
        "Its optimiser is RMSprop; here Adam without a first moment, whose second one is corrected for its start: the "
        "first updates are smaller than there.",
        "A token's weight is the discounted loss that follows it, with a gradient. With share and gamma 0 it is SFT, "
        "a mean over answers, in which the embeddings of what is read do not move; a small gamma is not near to it.",
        "Nothing flows back through what is read, of the question too: the published code reads from a copy of the "
        "embeddings that is renewed after every update. The question and an environment's replies are read as they "
        "are.",
        "The weight's own gradient makes tokens that are much surer than their answer less sure. Thirty steps on short "
        "expressions (countdown) raise the loss of their end from 0.003 to 0.9; with `form=detached` to 0.01.",
        "Guesses are those of the weights before the first update of a step: one pass more, of no gradient.",
    ),
    deviations=(
        "The paper prints the double sum - sum_n sum_{i >= n} log p_i, which weighs late tokens most; the published "
        "code the product of a token's loss with its own discounted future, which weighs early ones. `form=sum` is "
        "the first.",
    ),
)
