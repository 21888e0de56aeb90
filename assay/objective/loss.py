"""The loss of one chunk. It is a plain sum over tokens, because the token weights already contain every denominator."""

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
"""(a view without a graph) -> the ratio and the gate of each token."""


@dataclass(frozen=True, eq=False)
class Loss:
    """The share of a chunk in the loss, and numbers of each token for the metrics (without a graph)."""

    value: Tensor
    terms: Mapping[str, Tensor]
    ratio: Tensor | None = None  # None for a loss that has neither ratio nor gate
    gate: Tensor | None = None
    correction: Tensor | None = None


def loss_of(objective: Objective) -> Callable[[View, Tensor], Loss]:
    """The function (view, token weights) -> Loss of this objective. The constants of the view must hold the
    results of `survey` over all rows of the optimiser step.
    """
    policy = _policy(objective) if objective.whole is None else _whole(objective)
    terms = [(name_of(part), bind(part), part) for part in objective.terms]

    def loss(view: View, weight: Tensor) -> Loss:
        pushed = policy(view, weight)
        value, seen = pushed.value, {}
        for number, (name, term, part) in enumerate(terms):
            each = term(view)
            if (weighed := view.term_weights.get(name)) is not None:
                each = each * weighed
            if part.over is not None:
                each = each * selected(part.over, view)
            seen[f"{name}_loss"] = seen.get(f"{name}_loss", 0) + each.detach()
            own = weight if part.mean == "policy" else view.constants[own_mean(number)]
            value = value + (own * view.mask * each).sum()
        return Loss(value, seen, pushed.ratio, pushed.gate, pushed.correction)

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
            surveyed = view.constants.get(said_by(part))
            own = function(fixed) if surveyed is None else surveyed
            correction = own if correction is None else correction * own
        coefficient = weight * view.mask * gate * view.streams["advantage"]
        coefficient = coefficient if correction is None else coefficient * correction
        return Loss(-(coefficient * view.logp).sum(), {}, ratio, gate, correction)

    return policy


def push_of(objective: Objective) -> Push:
    """The function that gives each token its ratio and its gate, by the case that the token falls into."""
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
    """bool[M]: the tokens that a selector chooses. The answer comes from `survey` if the selector compares rows."""
    known = view.constants.get(said_by(part))
    return bind(part)(view) if known is None else known > 0


def pushes_at_once(objective: Objective) -> bool:
    """Whether ratio or gate compare rows. Then `survey` computes both, with the weights at the start of the step."""
    pairs = [(objective.ratio, objective.gate), *((case.ratio, case.gate) for case in objective.cases)]
    return objective.whole is None and any(part.scope == "step" for pair in pairs for part in pair)


# The constants that `survey` computes over all rows of the optimiser step.
COEFFICIENT = Stream("coefficient", per="token")  # the derivative of a whole loss with respect to the log-prob
RATIO, GATE = Stream("ratio", per="token"), Stream("gate", per="token")  # at the start of the step


def said_by(part: Part) -> Stream:
    """The constant that holds the results of a selector or a correction over all rows."""
    return Stream(repr(part), per="token")


def own_mean(place: int) -> Stream:
    """The constant with the token weights of a term that is averaged over its own tokens; `place` numbers the terms."""
    return Stream(f"mean of term {place}", per="token")


def want_of(objective: Objective) -> Want:
    wants = objective.wants
    return Want(entropy="entropy" in wants, top_ids="top" in wants, mean_logp="mean" in wants)
