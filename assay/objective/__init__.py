"""The objective: aggregate( gate(ratio; advantage) * log pi ) + regularisers, as a record of parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from assay.objective.aggregate import AGGREGATES, FixedLength, SequenceMean, SequenceSum, TokenMean
from assay.objective.gates import GATES, Clip, Open
from assay.objective.ratios import RATIOS, NoRatio, TokenRatio
from assay.objective.regularise import KL, REGULARISERS, Entropy
from assay.part import Part, slot


@dataclass(frozen=True)
class Objective(Part):
    """What is minimised. Only these parts know that the loss is about a policy; the engine sees coefficients."""

    ratio: Part = slot("ratio", default=TokenRatio())
    gate: Part = slot("gate", default=Clip())
    aggregate: Part = slot("aggregate", default=TokenMean())
    regularise: tuple[Part, ...] = slot("regularise", default=())
    injected: Literal["mask", "likelihood"] = "mask"  # tokens that the policy did not write: left out, or imitated

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
    "Clip",
    "Entropy",
    "FixedLength",
    "NoRatio",
    "Objective",
    "Open",
    "SequenceMean",
    "SequenceSum",
    "TokenMean",
    "TokenRatio",
]
