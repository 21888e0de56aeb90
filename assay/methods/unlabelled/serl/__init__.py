"""The policy writes problems; those unlike all before, on which its answers half agree, train it by their vote."""

from assay.ask import AsRole
from assay.curate import Agreed, Untrained
from assay.forwards import Agreement, TokenKL
from assay.memory import AdmitPosed
from assay.methods.unlabelled.serl.answer_unlike import AnswerUnlike
from assay.recipe import Like
from assay.reward import GroupVote
from assay.source import Pose

SERL = Like(
    "rfpp",
    name="serl",
    title="SeRL: Self-Play Reinforcement Learning for Large Language Models with Limited Data",
    paper="2505.20347",
    claim="problems that the policy writes itself, filtered as it learns, with votes as labels: close to training on "
    "all labelled data from 500 problems",
    missing="instructions in words, and the filters on their length and their keywords: problems of tasks that can be "
    "posed take their place, and the reader of the task is the filter of form; three rounds that begin with the "
    "given problems anew",
    changes={
        "tasks": ("dsl-deduction",),
        "mechanism.source": Pose(),
        "mechanism.ask": (AsRole("proposer"),),
        "mechanism.expand": (AnswerUnlike(answers=16, alike=0.7),),
        "mechanism.reward": (GroupVote(),),
        "mechanism.curate": (Untrained(role="proposer"), Agreed(by="share", low=0.2, high=0.8, role="policy")),
        "mechanism.forwards": (TokenKL(weight=1e-4), Agreement(role="policy")),
        "mechanism.remember": (AdmitPosed(cap=16384),),
        "roles": {"policy": "policy", "proposer": "policy"},
        "scale.num_prompts": 32,
        "scale.group_size": 4,
        "scale.num_minibatches": 1,
    },
    notes=(
        "The bounds 0.2 and 0.8 of the share of the most frequent answer, 0.7 of the likeness, 16 votes and "
        "REINFORCE++ are the paper's; the likeness is the F-measure of ROUGE-L over words, with all problems of the "
        "pool and of the step. KL, clip and whitening are those of `rfpp`, the scale is ours.",
        "Writing problems does not train: the prompt shows earlier problems, and the policy that answers writes.",
        "Problems enter the pool whether or not they trained, so that later prompts show them.",
        "Whether a label is right is measured by the verifier (`agreement`) and trains nothing.",
    ),
)
