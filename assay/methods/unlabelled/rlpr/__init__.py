"""The reward is the probability of the reference answer after the sampled reasoning, less that without reasoning."""

from assay.methods.unlabelled.rlpr.deviation import KeepDeviation, Varied
from assay.methods.unlabelled.rlpr.reference import ReferenceProbability
from assay.objective import Clip, TokenMean
from assay.recipe import Like

RLPR = Like(
    "grpo",
    name="rlpr",
    title="RLPR: Extrapolating RLVR to General Domains without Verifiers",
    paper="2506.18254",
    claim="1.6 points above General-Reasoner, which has a verifier model, on average over seven benchmarks, and 7.6 "
    "above VeriFree on TheoremQA",
    missing="drawing further prompts until the batch is full: what the filter leaves out makes a step smaller",
    changes={
        "mechanism.reward": (ReferenceProbability(form=0.1),),
        "mechanism.curate": (Varied(beta=0.5, after=10),),
        "mechanism.remember": (KeepDeviation(keep=0.99, after=5),),
        "mechanism.objective.gate": Clip(low=0.2, high=0.27),
        "mechanism.objective.aggregate": TokenMean(),
        "mechanism.objective.regularise": (),
        "tasks": ("mod-chain-7",),
        "scale.num_prompts": 768,
        "scale.group_size": 8,
        "scale.max_new": 3072,
        "scale.num_minibatches": 4,
        "scale.num_steps": 300,
    },
    notes=(
        "Values are those of the published script for Qwen: form 0.1, beta 0.5, 768 prompts of 8 answers, mini-batches "
        "of 192 prompts, clip 0.2 and 0.27, no KL. num_steps is ours.",
        "It needs reference answers and reasoning before them: on a task whose answers stand alone, every answer has "
        "the same reward. Tasks with steps are mod-chain and the like.",
        "p is the mean of the probabilities of the reference's tokens, not their product, at the temperature of "
        "sampling, in the precision of training: after reasoning by the policy of now, without reasoning by the "
        "weights from before training, which the run keeps. `--mechanism.reward.0.before now` asks the policy of now.",
        "The mean of the deviations is plain over steps 6 to 10 and moves from step 11 on, in which the filter begins.",
    ),
    deviations=(
        "The form is right if the answer is marked once. The published code marks it by tags, here it is the mark of "
        "the wording.",
        "Without a marked answer the reference stands behind a mark at the end of the response, as in the published "
        "code.",
    ),
)
