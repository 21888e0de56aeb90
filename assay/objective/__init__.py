"""The objective as a record of parts:

aggregate( keep * correct * gate(ratio; advantage) * log pi )  +  regularise  +  extra
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from assay.objective.aggregate import (
    AGGREGATES,
    DeltaL,
    FixedLength,
    PromptMean,
    SequenceMean,
    SequenceSum,
    TokenMean,
)
from assay.objective.correct import CORRECTIONS, Drop, Reject, Truncate
from assay.objective.covariance import Covariance
from assay.objective.divergence import Followed, Near
from assay.objective.experts import ByEntropy, Focal, MixedBehaviour, Plain
from assay.objective.gates import (
    GATES,
    Bounded,
    Clip,
    ClipLikeliest,
    Geometric,
    Open,
    Preserving,
    Shaped,
    ShapedBy,
    Shut,
    Soft,
    Tapered,
)
from assay.objective.groups import PACS, RAPID
from assay.objective.preferences import DPO, IPO, KTO
from assay.objective.propagated import Propagated
from assay.objective.ratios import RATIOS, GroupExpectation, NoRatio, Probability, SequenceRatio, TokenRatio
from assay.objective.regress import FlowRL, Rover
from assay.objective.regularised import OldKL, RegularisedReinforce
from assay.objective.select import SELECTORS, Forks, HighEntropy, Judged, Tagged, Written
from assay.objective.term import Term
from assay.objective.terms import (
    KL,
    TERMS,
    Entropy,
    Likelihood,
    LikelihoodByEntropy,
    ShareWithCandidates,
    SquaredRatio,
)
from assay.objective.whole import WHOLES
from assay.part import Part, slot


@dataclass(frozen=True)
class Case(Part):
    """Tokens that go by a ratio and a gate of their own."""

    over: Part = slot("over")
    ratio: Part = slot("ratio", default=TokenRatio())
    gate: Part = slot("gate", default=Open())


@dataclass(frozen=True)
class Objective(Part):
    """What is minimised. Only these parts know that the loss is about a policy; the engine sees coefficients."""

    whole: Part | None = slot("whole", default=None)  # a loss in place of ratio, gate and advantage
    ratio: Part = slot("ratio", default=TokenRatio())
    gate: Part = slot("gate", default=Clip())
    anchor: Literal["old", "sampler"] = "old"  # the ratio's denominator: the learner's numbers, or the sampler's own
    cases: tuple[Case, ...] = ()  # the first that covers a token has it; a token without one goes by the above
    keep: tuple[Part, ...] = slot("keep", default=())  # what is outside is not pushed, and counted all the same
    correct: tuple[Part, ...] = slot("correct", default=())
    aggregate: Part = slot("aggregate", default=TokenMean())
    regularise: tuple[Part, ...] = slot("regularise", default=())
    extra: tuple[Part, ...] = slot("extra", default=())
    injected: Literal["mask", "train"] = "mask"  # tokens that somebody else wrote for the policy: left out, or trained

    @property
    def terms(self) -> tuple[Term, ...]:
        """Everything that is added to the policy's term."""
        return (*self.regularise, *self.extra)  # type: ignore[return-value]

    @property
    def parts(self) -> Iterator[Part]:
        """All parts, those within parts too."""
        yield from (self.ratio, self.gate, *self.keep, *self.correct, *self.terms)
        yield from () if self.whole is None else (self.whole,)
        for case in self.cases:
            yield from (case.over, case.ratio, case.gate)
        yield from (term.over for term in self.terms if term.over is not None)

    @property
    def wants(self) -> frozenset[str]:
        return frozenset().union(*(part.wants for part in self.parts))

    @property
    def surveys(self) -> bool:
        """Whether an optimiser step begins with a pass over all its rows."""
        own = [term.over for term in self.terms if term.mean == "own" and term.over is not None]
        return any(part.scope == "step" for part in self.parts) or any(part.scope != "data" for part in own)


def contradiction(goal: Objective) -> str | None:
    """Why parts of an objective cannot stand beside each other, and what to do; None where they can."""
    plain = Objective()
    if goal.whole is not None:
        bare = dataclasses.replace(plain, ratio=NoRatio(), gate=Open())
        names = ("ratio", "gate", "cases", "keep", "correct")
        idle = [n for n in names if getattr(goal, n) not in (getattr(plain, n), getattr(bare, n))]
        if idle:
            return (
                f"objective.whole = {type(goal.whole).__name__} is a loss of its own, and objective.{idle[0]} would do "
                f"nothing. Leave {idle[0]} as it is, or set whole to none."
            )
    if goal.anchor == "sampler" and goal.correct:
        return (
            "objective.anchor = sampler takes the ratio to what the sampler said, and objective.correct would count "
            "the same gap again. Set anchor to old, or correct to none."
        )
    for ratio, gate in [(goal.ratio, goal.gate), *((case.ratio, case.gate) for case in goal.cases)]:
        answer = next((p for p in (ratio, gate) if isinstance(p, SequenceRatio | GroupExpectation | Geometric)), None)
        product = isinstance(answer, SequenceRatio) and answer.of == "product"
        fitting = (SequenceMean, SequenceSum) if product else (SequenceMean,)
        if answer is not None and goal.whole is None and not isinstance(goal.aggregate, fitting):
            return (
                f"{type(answer).__name__} is one ratio for a whole answer, and {type(goal.aggregate).__name__} would "
                "weigh it by the answer's length once more. Set objective.aggregate to sequence-mean"
                f"{' or sequence-sum' if product else ''}, or take a ratio of tokens."
            )
    return None


__all__ = [
    "AGGREGATES",
    "CORRECTIONS",
    "DPO",
    "GATES",
    "IPO",
    "KL",
    "KTO",
    "PACS",
    "RAPID",
    "RATIOS",
    "SELECTORS",
    "TERMS",
    "WHOLES",
    "Bounded",
    "ByEntropy",
    "Case",
    "Clip",
    "ClipLikeliest",
    "Covariance",
    "DeltaL",
    "Drop",
    "Entropy",
    "FixedLength",
    "FlowRL",
    "Focal",
    "Followed",
    "Forks",
    "Geometric",
    "GroupExpectation",
    "HighEntropy",
    "Judged",
    "Likelihood",
    "LikelihoodByEntropy",
    "MixedBehaviour",
    "Near",
    "NoRatio",
    "Objective",
    "OldKL",
    "Open",
    "Plain",
    "Preserving",
    "Probability",
    "PromptMean",
    "Propagated",
    "RegularisedReinforce",
    "Reject",
    "Rover",
    "SequenceMean",
    "SequenceRatio",
    "SequenceSum",
    "Shaped",
    "ShapedBy",
    "ShareWithCandidates",
    "Shut",
    "Soft",
    "SquaredRatio",
    "Tagged",
    "Tapered",
    "Term",
    "TokenMean",
    "TokenRatio",
    "Truncate",
    "Written",
    "contradiction",
]
