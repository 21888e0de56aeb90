"""Self-imitation weighted by the probability of the answer: two samples should be the same."""

from assay.credit import Score
from assay.forwards import Agreement
from assay.recipe import Like
from assay.reward import Affine, Certainty

RLSC = Like(
    "reinforce",
    name="rlsc",
    title="Confidence Is All You Need: Few-Shot RL Fine-Tuning of Language Models",
    paper="2506.06395",
    claim="16 answers to each question and 10 or 20 steps, without labels: AIME24 13.3 to 26.7 and MATH500 51.4 to "
    "72.6 with Qwen2.5-Math-7B",
    changes={
        "mechanism.reward": (Affine(of=Certainty(form="probability"), plus=0.1, name="likely"),),
        "mechanism.forwards": (Agreement(),),
        "mechanism.credit": Score(),
        "scale.num_prompts": 8,
        "scale.group_size": 16,
        "scale.max_new": 3072,
        "scale.learning_rate": 1e-5,
        "scale.num_steps": 20,
        "scale.temperature": 0.5,
    },
    notes=(
        "The loss is - sum_y (pi_old(y) + alpha) log pi(y), alpha = 0.1: the reward is the weight, and it has no "
        "baseline. On policy the gradient of the first part is that of E pi(y), the probability that two answers "
        "coincide.",
        "The probability of a long answer is nothing beside alpha, and what is left is imitation of samples at a low "
        "temperature with a constant weight: `--mechanism.reward.0.times 0` trains that alone.",
        "16 answers, the temperature, the rate, 3,072 tokens and 20 steps are the paper's; 8 prompts a step are ours.",
    ),
)
