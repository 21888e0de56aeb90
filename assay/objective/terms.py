"""Terms that are added to the policy loss: a differentiable value for each token, times the weight of the term.

The selector `over` says which tokens have the term; None means all. A term is averaged like the policy loss, or with
mean="own" over its own tokens of the whole optimiser step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from assay.errors import ConfigError
from assay.objective.ratios import CLAMP, token_ratio
from assay.part import Term
from assay.types import Origin

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View


Estimator = Literal["k1", "k2", "k3", "k1+", "k3+", "weighted-k2", "weighted-k3", "distance"]
"""The value of each estimator, and its gradient with respect to log pi; d = log pi - log anchor, w = pi / pi_old:

    k1           d                      1                   the gradient is 0 in expectation: no penalty at all
    k2           d^2 / 2                d                   on policy the gradient of KL(policy, anchor)
    k3           exp(-d) - 1 + d        1 - exp(-d)         on policy the gradient of KL(anchor, policy); customary
    k1+, k3+     as k1, k3              d
    weighted-k2  w d^2 / 2              w d                 the gradient of KL(policy, anchor), off policy too
    weighted-k3  w (exp(-d) - 1 + d)    w d                 the same gradient, and its value is unbiased too
    distance     |d|                    sign d              of KL-Cov; 0 for tokens that the current weights sampled
"""


def kl(view: View, *, weight: float, estimator: str, anchor: str) -> Tensor:
    """weight times the estimator in the table of `Estimator`; 0 on tokens that the policy did not write.

    In the first update of a step the difference d from `old` is rounding error: then `distance` has no gradient. With
    a weight of 0 no reference is asked, and there is none to compare with.
    """
    if not weight:
        return 0 * view.logp
    logp = view.logp.detach()
    d = logp - (view.streams["ref"] if anchor == "reference" else view.old)
    # clamped only so that exp does not overflow: the penalty still acts on a policy far from the reference
    pull = -(-d).clamp(max=CLAMP).expm1()
    forms = {
        "k1": (d, d.new_ones(d.shape)),
        "k2": (d.square() / 2, d),
        "k3": (d - pull, pull),
        "distance": (d.abs(), d.sign()),
    }
    forms |= {"k1+": (d, d), "k3+": (d - pull, d)}
    if estimator.startswith("weighted-"):
        w = token_ratio(logp, view.old)
        forms |= {"weighted-k2": (w * d.square() / 2, w * d), "weighted-k3": (w * (d - pull), w * d)}
    if estimator not in forms:
        raise ConfigError(
            f"objective.regularise: estimator is one of {', '.join(get_args(Estimator))}, not '{estimator}'."
        )
    value, slope = forms[estimator]
    if estimator == "distance" and anchor == "old":
        slope = slope * ~view.still
    own = view.streams["origin"] == Origin.POLICY
    return weight * (own * (value + slope * (view.logp - logp)))


class KL(Term):
    """The KL penalty in the loss, to the reference policy or to the policy before the step (estimators: 2506.09477).

    The reference policy is the base model, unless the recipe has a model named `reference`: that one may follow the
    policy. Only tokens that the policy wrote have the penalty.

        objective=Objective(regularise=(KL(weight=0.001),))
        --mechanism.objective.regularise kl --mechanism.objective.regularise.0.weight 0.001
    """

    weight: float = 0.04  # of the term in the loss
    estimator: Estimator = "weighted-k3"  # of the KL; assay/objective/terms.py has the table
    anchor: Literal["reference", "old"] = "reference"  # the policy to which the KL is measured
    does = kl

    @property
    def wants(self) -> frozenset[str]:
        return frozenset({"ref"}) if self.weight and self.anchor == "reference" else frozenset()


def entropy(view: View, *, weight: float) -> Tensor:
    """- weight H."""
    if not weight:
        return 0 * view.logp
    assert view.entropy is not None
    return -weight * view.entropy


class Entropy(Term):
    """The entropy bonus: the entropy of the next-token distribution over the full vocabulary.

    objective=Objective(regularise=(Entropy(weight=0.001),))
    --mechanism.objective.regularise entropy --mechanism.objective.regularise.0.weight 0.001
    """

    weight: float = 0.001
    does = entropy

    @property
    def wants(self) -> frozenset[str]:
        return frozenset({"entropy"}) if self.weight else frozenset()


def likelihood(view: View, *, weight: float) -> Tensor:
    """- weight log pi."""
    return -weight * view.logp


class Likelihood(Term):
    """The negative log-likelihood of the tokens that `over` selects, such as demonstrations or right answers.

    objective=Objective(extra=(Likelihood(weight=0.1),))
    --mechanism.objective.extra likelihood --mechanism.objective.extra.0.weight 0.1
    """

    weight: float = 1.0
    does = likelihood
