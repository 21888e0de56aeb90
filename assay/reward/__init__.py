"""Rewards: what an answer is worth, from its verdict, its length, a function of the user, a judge, or other rewards."""

from assay.reward.anchors import Anchors
from assay.reward.called import Called, TurnForm
from assay.reward.certainty import Certainty
from assay.reward.combinators import Cascade, Gated, OfTasks, Product, Sum, Veto
from assay.reward.continued import SampledSteps
from assay.reward.controls import Misjudged, Shuffled
from assay.reward.endpoint_judges import JudgedAlone, JudgedByReference, JudgedInPairs
from assay.reward.formed import WellFormed
from assay.reward.kept import KeptRules
from assay.reward.learnt import LearntScore, LearntSteps
from assay.reward.lengths import SoftOverlong
from assay.reward.overlap import AnswerF1
from assay.reward.partial import PartialOutcome
from assay.reward.parts import Graded, Outcome
from assay.reward.role_judges import ScoredBy
from assay.reward.rubrics import JudgedByRubric
from assay.reward.scored import Scored
from assay.reward.stepped import ValidSteps
from assay.reward.transforms import Affine, Clipped, Delta, Masked, Saturated, Scheduled, Squashed
from assay.reward.votes import CollectiveVote, GroupVote
from assay.reward.within import FailedReplies, RepeatedNgrams, RepeatedSteps

__all__ = [
    "Affine",
    "Anchors",
    "AnswerF1",
    "Called",
    "Cascade",
    "Certainty",
    "Clipped",
    "CollectiveVote",
    "Delta",
    "FailedReplies",
    "Gated",
    "Graded",
    "GroupVote",
    "JudgedAlone",
    "JudgedByReference",
    "JudgedByRubric",
    "JudgedInPairs",
    "KeptRules",
    "LearntScore",
    "LearntSteps",
    "Masked",
    "Misjudged",
    "OfTasks",
    "Outcome",
    "PartialOutcome",
    "Product",
    "RepeatedNgrams",
    "RepeatedSteps",
    "SampledSteps",
    "Saturated",
    "Scheduled",
    "Scored",
    "ScoredBy",
    "Shuffled",
    "SoftOverlong",
    "Squashed",
    "Sum",
    "TurnForm",
    "ValidSteps",
    "Veto",
    "WellFormed",
]
