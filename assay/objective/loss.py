"""The loss of one chunk: a plain sum over its tokens, because every denominator is already in the token weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.engine.interface import Want
from assay.objective import Objective
from assay.part import Part, bind, name_of
from assay.streams import Stream

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View

Push = Callable[["View"], tuple["Tensor", "Tensor"]]
"""A view without a graph -> ratio and gate of each token."""


@dataclass(frozen=True, eq=False)
class Loss:
    """A chunk's contribution, and what was seen on the way (tensors per token, without a graph)."""

    value: Tensor
    terms: Mapping[str, Tensor]
    ratio: Tensor | None = None  # none for a loss that has neither
    gate: Tensor | None = None
    correction: Tensor | None = None


def loss_of(objective: Objective) -> Callable[[View, Tensor], Loss]:
    """The function (view, token weights) -> Loss that this objective means. `survey` has put into the constants of the
    view what had to be known of all rows of the optimiser step.
    """
    policy = _policy(objective) if objective.whole is None else _whole(objective)
    terms = [(name_of(part), bind(part), part) for part in objective.terms]

    def loss(view: View, weight: Tensor) -> Loss:
        found = policy(view, weight)
        value, seen = found.value, {}
        for place, (name, term, part) in enumerate(terms):
            each = term(view)
            if (weighed := view.term_weights.get(name)) is not None:
                each = each * weighed
            if part.over is not None:
                each = each * selected(part.over, view)
            seen[f"{name}_loss"] = seen.get(f"{name}_loss", 0) + each.detach()
            own = weight if part.mean == "policy" else view.constants[own_mean(place)]
            value = value + (own * view.mask * each).sum()
        return Loss(value, seen, found.ratio, found.gate, found.correction)

    return loss


def _whole(objective: Objective) -> Callable[[View, Tensor], Loss]:
    assert objective.whole is not None
    function, whole = bind(objective.whole), objective.whole.scope == "step"

    def policy(view: View, weight: Tensor) -> Loss:
        if whole:
            return Loss((view.constants[COEFFICIENT] * view.mask * view.logp).sum(), {})
        return Loss(function(view, weight=weight), {})

    return policy


def _policy(objective: Objective) -> Callable[[View, Tensor], Loss]:
    push, whole = push_of(objective), pushes_at_once(objective)
    corrections = [(part, bind(part)) for part in objective.correct]

    def policy(view: View, weight: Tensor) -> Loss:
        fixed = view.detached()
        if whole:
            ratio, gate = view.constants[RATIO], view.constants[GATE]
        else:
            ratio, gate = push(fixed)
        for part in objective.keep:
            gate = gate * selected(part, fixed)
        correction = None
        for part, function in corrections:
            known = view.constants.get(said_by(part))
            own = function(fixed) if known is None else known
            correction = own if correction is None else correction * own
        coefficient = weight * view.mask * gate * view.streams["advantage"]
        coefficient = coefficient if correction is None else coefficient * correction
        return Loss(-(coefficient * view.logp).sum(), {}, ratio, gate, correction)

    return policy


def push_of(objective: Objective) -> Push:
    """Ratio and gate by the case of each token."""
    rules = [(None, objective.ratio, objective.gate)]
    rules += [(case.over, case.ratio, case.gate) for case in reversed(objective.cases)]
    bound = [(over, bind(ratio), bind(gate)) for over, ratio, gate in rules]

    def push(view: View) -> tuple[Tensor, Tensor]:
        logp, advantage = view.logp, view.streams["advantage"]
        old = view.mu if objective.anchor == "sampler" else view.old
        ratio = gate = logp
        for over, ratio_of, gate_of in bound:
            own = ratio_of(logp, old, view=view)
            mine = gate_of(own, advantage, view=view)
            if over is None:
                ratio, gate = own, mine
            else:
                here = selected(over, view)
                ratio, gate = own.where(here, ratio), mine.where(here, gate)
        return ratio, gate

    return push


def selected(part: Part, view: View) -> Tensor:
    """bool[M]: what `survey` found, or what the part says of these rows."""
    known = view.constants.get(said_by(part))
    return bind(part)(view) if known is None else known > 0


def pushes_at_once(objective: Objective) -> bool:
    """Whether ratio or gate compare rows, so that both are those that the whole optimiser step began with."""
    pairs = [(objective.ratio, objective.gate), *((case.ratio, case.gate) for case in objective.cases)]
    return objective.whole is None and any(part.scope == "step" for pair in pairs for part in pair)


# What `survey` finds out, which sees all rows of the optimiser step
COEFFICIENT = Stream("coefficient", per="token")  # the derivative of a whole loss by the log-prob
RATIO, GATE = Stream("ratio", per="token"), Stream("gate", per="token")  # with which the step began


def said_by(part: Part) -> Stream:
    """What a selector or a correction says of all rows."""
    return Stream(repr(part), per="token")


def own_mean(place: int) -> Stream:
    """The weights of the term at this place that is averaged over its own tokens."""
    return Stream(f"mean of term {place}", per="token")


def want_of(objective: Objective) -> Want:
    wants = objective.wants
    return Want(entropy="entropy" in wants, top_ids="top" in wants, mean_logp="mean" in wants)
