"""The objective: aggregate( gate(ratio; advantage) * log pi ) + regularisers, as a record of parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from assay.objective.aggregate import AGGREGATES, FixedLength, SequenceMean, SequenceSum, TokenMean
from assay.objective.gates import GATES, Clip, Decoupled, Open, Shaped, ShapedBy, Shut
from assay.objective.ratios import RATIOS, NoRatio, Probability, TokenRatio
from assay.objective.regularise import KL, REGULARISERS, Entropy, Imitate
from assay.part import Part, slot


@dataclass(frozen=True)
class Case(Part):
    """Tokens that go by a ratio and a gate of their own: of the rows with this tag, of this origin, or both."""

    tag: str | None = None
    origin: Literal["policy", "injected"] | None = None
    ratio: Part = slot("ratio", default=TokenRatio())
    gate: Part = slot("gate", default=Open())


@dataclass(frozen=True)
class Objective(Part):
    """What is minimised. Only these parts know that the loss is about a policy; the engine sees coefficients."""

    ratio: Part = slot("ratio", default=TokenRatio())
    gate: Part = slot("gate", default=Clip())
    aggregate: Part = slot("aggregate", default=TokenMean())
    regularise: tuple[Part, ...] = slot("regularise", default=())
    injected: Literal["mask", "train"] = "mask"  # tokens that somebody else wrote for the policy: left out, or trained
    cases: tuple[Case, ...] = ()  # the first that covers a token has it; a token without one goes by the above

    @property
    def needs_reference(self) -> bool:
        return any(isinstance(part, KL) and part.weight != 0 for part in self.regularise)

    @property
    def needs_entropy(self) -> bool:
        return any(isinstance(part, Entropy) and part.weight != 0 for part in self.regularise)


__all__ = [
    "AGGREGATES",
    "GATES",
    "KL",
    "RATIOS",
    "REGULARISERS",
    "Case",
    "Clip",
    "Decoupled",
    "Entropy",
    "FixedLength",
    "Imitate",
    "NoRatio",
    "Objective",
    "Open",
    "Probability",
    "SequenceMean",
    "SequenceSum",
    "Shaped",
    "ShapedBy",
    "Shut",
    "TokenMean",
    "TokenRatio",
]
