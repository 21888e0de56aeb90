"""The objective of a recipe, as a record of parts. Each part is one factor of the policy loss, or a term beside it:

aggregate( keep * correct * gate(ratio; advantage) * advantage * log pi )  +  regularise  +  extra
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Literal

from assay.objective.aggregate import DeltaL, FixedLength, PromptMean, SequenceMean, SequenceSum, TokenMean
from assay.objective.correct import Drop, Reject, Truncate
from assay.objective.gates import Bounded, Clip, Open, Plain, Shaped, Shut
from assay.objective.pairwise import DPO
from assay.objective.ratios import NoRatio, Probability, SequenceRatio, TokenRatio
from assay.objective.select import HighEntropy, Judged, Tagged, Written
from assay.objective.squared_ratio import SquaredRatio
from assay.objective.terms import KL, Entropy, Likelihood
from assay.part import Aggregate, Correction, Gate, OfObjective, Part, Ratio, Selector, Term, WholeLoss, name_of


class Case(Part):
    """Tokens of an objective that have a ratio and a gate of their own, for example tokens of a teacher.

    Objective(cases=(Case(over=Written("injected"), ratio=Probability(), gate=Shaped(gamma=0.1)),))
    --mechanism.objective.cases.0.gate.gamma 0.2
    """

    over: Selector  # the tokens
    ratio: Ratio = TokenRatio()
    gate: Gate = Open()


class Objective(Part):
    """The loss that training minimises. The engine does not know its parts: it gets a coefficient for each log-prob.

    Objective(gate=Clip(high=0.28), aggregate=TokenMean(), regularise=(KL(weight=0.001),))
    --mechanism.objective.gate.high 0.28 --mechanism.objective.aggregate token-mean
    """

    whole: WholeLoss | None = None  # a loss that replaces ratio, gate and advantage
    ratio: Ratio = TokenRatio()
    gate: Gate = Clip()
    anchor: Literal["old", "sampler"] = "old"  # the ratio's denominator: log-probs of the learner, or of the sampler
    cases: tuple[Case, ...] = ()  # tokens with a ratio and gate of their own; the first case that covers a token has it
    keep: tuple[Selector, ...] = ()  # only these tokens have a policy gradient; the others stay in the denominator
    correct: tuple[Correction, ...] = ()  # weights against the mismatch of sampler and learner
    aggregate: Aggregate = TokenMean()  # how the loss averages over tokens and rows
    regularise: tuple[Term, ...] = ()  # terms beside the policy loss that hold the policy: KL, entropy
    extra: tuple[Term, ...] = ()  # other terms beside the policy loss, such as a likelihood
    injected: Literal["mask", "train"] = "mask"  # tokens that others wrote within an answer: left out, or trained

    @property
    def terms(self) -> tuple[Term, ...]:
        """All terms that are added to the policy loss."""
        return (*self.regularise, *self.extra)

    @property
    def parts(self) -> Iterator[OfObjective]:
        """All parts, including the parts within cases and terms."""
        yield from (self.ratio, self.gate, *self.keep, *self.correct, *self.terms)
        yield from () if self.whole is None else (self.whole,)
        for case in self.cases:
            yield from (case.over, case.ratio, case.gate)
        yield from (term.over for term in self.terms if term.over is not None)

    @property
    def wants(self) -> frozenset[str]:
        """The numbers of each token that the parts together need beside its log-prob."""
        return frozenset().union(*(part.wants for part in self.parts))

    @property
    def surveys(self) -> bool:
        """Whether an optimiser step begins with a forward pass over all its rows, for parts that must see them all."""
        own = [term.over for term in self.terms if term.mean == "own" and term.over is not None]
        return any(part.scope == "step" for part in self.parts) or any(part.scope != "data" for part in own)


def contradiction(goal: Objective) -> str | None:
    """Why the parts of an objective contradict each other, and what to change; None if they do not."""
    plain = Objective()
    if goal.whole is not None:
        bare = dataclasses.replace(plain, ratio=NoRatio(), gate=Open())
        names = ("ratio", "gate", "cases", "keep", "correct")
        idle = [n for n in names if getattr(goal, n) not in (getattr(plain, n), getattr(bare, n))]
        if idle:
            return (
                f"objective.whole = {type(goal.whole).__name__} is a loss of its own, and objective.{idle[0]} would do "
                f"nothing. Leave {idle[0]} at its default, or set whole to none."
            )
    if goal.anchor == "sampler" and goal.correct:
        return (
            "objective.anchor = sampler takes the ratio to the log-probs of the sampler, and objective.correct would "
            "correct for the same gap again. Set anchor to old, or correct to none."
        )
    for ratio, gate in [(goal.ratio, goal.gate), *((case.ratio, case.gate) for case in goal.cases)]:
        answer = next((part for part in (ratio, gate) if part.aggregations), None)
        if answer is not None and goal.whole is None and name_of(goal.aggregate) not in answer.aggregations:
            return (
                f"{type(answer).__name__} is one ratio for a whole answer, and {type(goal.aggregate).__name__} would "
                f"weigh it by the answer's length once more. Set objective.aggregate to "
                f"{' or '.join(answer.aggregations)}, or objective.ratio to a ratio of single tokens."
            )
    return None


__all__ = [
    "DPO",
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
    "SquaredRatio",
    "Tagged",
    "Term",
    "TokenMean",
    "TokenRatio",
    "Truncate",
    "Written",
    "contradiction",
]
