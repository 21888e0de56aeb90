"""The objective as a record of parts:

aggregate( keep * correct * gate(ratio; advantage) * log pi )  +  regularise  +  extra
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from assay.objective.aggregate import DeltaL, FixedLength, PromptMean, SequenceMean, SequenceSum, TokenMean
from assay.objective.correct import Drop, Reject, Truncate
from assay.objective.gates import Bounded, Clip, Open, Plain, Shaped, Shut
from assay.objective.ratios import NoRatio, Probability, SequenceRatio, TokenRatio
from assay.objective.select import HighEntropy, Judged, Tagged, Written
from assay.objective.terms import KL, Entropy, Likelihood
from assay.part import Aggregate, Correction, Gate, OfObjective, Part, Ratio, Selector, Term, WholeLoss, name_of


@dataclass(frozen=True)
class Case(Part):
    """Tokens that go by a ratio and a gate of their own."""

    over: Selector
    ratio: Ratio = TokenRatio()
    gate: Gate = Open()


@dataclass(frozen=True)
class Objective(Part):
    """What is minimised. Only these parts know that the loss is about a policy; the engine sees coefficients."""

    whole: WholeLoss | None = None  # a loss in place of ratio, gate and advantage
    ratio: Ratio = TokenRatio()
    gate: Gate = Clip()
    anchor: Literal["old", "sampler"] = "old"  # the ratio's denominator: the learner's numbers, or the sampler's own
    cases: tuple[Case, ...] = ()  # the first that covers a token has it; a token without one goes by the above
    keep: tuple[Selector, ...] = ()  # what is outside is not pushed, and counted all the same
    correct: tuple[Correction, ...] = ()
    aggregate: Aggregate = TokenMean()
    regularise: tuple[Term, ...] = ()
    extra: tuple[Term, ...] = ()
    injected: Literal["mask", "train"] = "mask"  # tokens that somebody else wrote for the policy: left out, or trained

    @property
    def terms(self) -> tuple[Term, ...]:
        """Everything that is added to the policy's term."""
        return (*self.regularise, *self.extra)

    @property
    def parts(self) -> Iterator[OfObjective]:
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
        answer = next((part for part in (ratio, gate) if part.aggregations), None)
        if answer is not None and goal.whole is None and name_of(goal.aggregate) not in answer.aggregations:
            return (
                f"{type(answer).__name__} is one ratio for a whole answer, and {type(goal.aggregate).__name__} would "
                f"weigh it by the answer's length once more. Set objective.aggregate to "
                f"{' or '.join(answer.aggregations)}, or take a ratio of tokens."
            )
    return None


__all__ = [
    "KL",
    "Bounded",
    "Case",
    "Clip",
    "DeltaL",
    "Drop",
    "Entropy",
    "FixedLength",
    "HighEntropy",
    "Judged",
    "Likelihood",
    "NoRatio",
    "Objective",
    "Open",
    "Plain",
    "Probability",
    "PromptMean",
    "Reject",
    "SequenceMean",
    "SequenceRatio",
    "SequenceSum",
    "Shaped",
    "Shut",
    "Tagged",
    "Term",
    "TokenMean",
    "TokenRatio",
    "Truncate",
    "Written",
    "contradiction",
]
