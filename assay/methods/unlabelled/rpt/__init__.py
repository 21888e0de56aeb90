"""The text is the check: the policy continues worked solutions from uncertain places, and says what stands there."""

from assay.methods.unlabelled.rpt.continue_text import ContinueText
from assay.methods.unlabelled.rpt.continues import Continues
from assay.recipe import Like

RPT = Like(
    "grpo",
    name="rpt",
    title="Reinforcement Pre-Training",
    paper="2506.08007",
    claim="next tokens as a reward: more compute raises next-token accuracy steadily, and what was trained so is a "
    "better start for reinforcement learning (14B)",
    missing="thoughts before the prediction in compact wording, corpora beside worked solutions, and a score for whole "
    "segments in place of the match",
    changes={
        "mechanism.ask": (ContinueText(share=0.2, length=8),),
        "mechanism.reward": (Continues(),),
        "mechanism.objective.regularise": (),
        "scale.num_prompts": 32,
        "scale.group_size": 8,
        "scale.max_new": 8192,
        "scale.temperature": 0.8,
    },
    notes=(
        "The reward is 1 if what was written equals the beginning of the true continuation, byte for byte, and ends "
        "where a token of it ends; else 0. Several tokens may be predicted, at most `length`.",
        "Places are drawn from the fifth of a solution's tokens at which the policy hesitates most. The paper drops "
        "easy places by the entropy of a model of 1.5B over its 16 likeliest tokens.",
        "Batches of 256 answers, groups of 8 and the rate are the paper's, the temperature is from memory; share, "
        "length and 500 steps are ours.",
        "In natural wording the prediction stands in \\boxed{}, behind a thought; in compact wording it is the whole "
        "response. Verdicts, and so reward/accuracy, say nothing here: the beginning of the answer is in the prompt.",
    ),
)
