"""The objective as a record of parts:

aggregate( keep * correct * gate(ratio; advantage) * log pi )  +  regularise  +  extra
"""

from __future__ import annotations

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
]
