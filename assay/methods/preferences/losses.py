"""Losses on answers that are preferred to others, against a frozen reference.

Pairs are marked by `pairs` of `curate`: of each pair the winner has 1, its loser -1, and all other rows of the group 0.
Sums and means are over the tokens of an answer that train.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.curate.grouping import MISMATCHED
from assay.methods.preferences.pairs import SIDES
from assay.part import LossScope, WholeLoss

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View


@dataclass(frozen=True)
class Preference(WholeLoss):
    """What they have in common: rows are compared, and with a reference."""

    @property
    def scope(self) -> LossScope:
        return "step"

    @property
    def wants(self) -> frozenset[str]:
        return frozenset({"ref"})


def dpo(view: View, *, beta: float, likelihood: float) -> Tensor:
    """Mean over pairs of - log sigmoid(beta (S_w - S_l)) - likelihood mean_t log pi_w, S = sum_t log pi - log ref."""
    from torch.nn.functional import logsigmoid

    margin, winner = pairs(view, view.sum(view.logp - view.streams["ref"]))
    each = -logsigmoid(beta * margin) - likelihood * view.mean(view.logp)[winner]
    return each.sum() / max(1, len(margin))


@dataclass(frozen=True)
class DPO(Preference):
    """The winner more likely than the loser, in units of the reference (2305.18290); with `likelihood` also likelier
    by itself, as in iterative reasoning preference optimisation (2404.19733).
    """

    beta: float = 0.1
    likelihood: float = 0.0
    needs = (SIDES,)
    does = dpo


def ipo(view: View, *, tau: float) -> Tensor:
    """Mean over pairs of (S_w - S_l - 1 / (2 tau))^2, S = mean_t log pi - log ref."""
    margin, _ = pairs(view, view.mean(view.logp - view.streams["ref"]))
    return (margin - 1 / (2 * tau)).square().sum() / max(1, len(margin))


@dataclass(frozen=True)
class IPO(Preference):
    """The margin between winner and loser regressed to a constant: nothing saturates where preferences are certain
    (2310.12036).
    """

    tau: float = 0.1
    needs = (SIDES,)
    does = ipo


def pairs(view: View, score: Tensor) -> tuple[Tensor, Tensor]:
    """[P] score of the winner less that of the loser, and the winner's row, of all pairs that are here whole."""
    import torch

    sides = view.constant(SIDES).to(score.dtype) * (view.length > 0).unsqueeze(-1)
    margins, winners = [score.new_zeros(0)], [view.row.new_zeros(0)]
    for sign in sides.unbind(-1):
        whole = (sign > 0) & (view.in_group(sign.abs()) == 2)
        margins.append(view.in_group(sign * score)[whole])
        winners.append(whole.nonzero().squeeze(-1))
    return torch.cat(margins), torch.cat(winners)


def kto(view: View, *, beta: float, balance: float) -> Tensor:
    """Mean over answers of l (1 - sigmoid(beta (S - z))) if right, 1 - sigmoid(beta (z - S)) if wrong, with
    z = sg[max(0, mean of S over mismatched answers)], S = sum_t log pi - log ref and l = balance n_wrong / n_right;
    z = 0 where nothing is mismatched, l = 1 where all answers are alike.
    """
    score = view.sum(view.logp - view.streams["ref"])
    trains = view.length > 0
    apart = trains & trains.new_tensor([tag == MISMATCHED for tag in view.batch.tag or [""] * len(view.batch)])
    level = (score.detach() * apart).sum() / apart.sum().clamp(min=1)
    gain = beta * (score - level.clamp(min=0))
    right, wrong = trains & ~apart & view.right, trains & ~apart & ~view.right
    weight = balance * wrong.sum() / right.sum() if right.any() and wrong.any() else 1.0
    return view.share * (weight * right * (-gain).sigmoid() + wrong * gain.sigmoid()).sum()


@dataclass(frozen=True)
class KTO(Preference):
    """Right answers above, wrong ones below what the policy thinks of answers at large; without pairs (2402.01306)."""

    beta: float = 0.1
    balance: float = 1.0  # of all right answers of the optimiser step to all wrong ones, which weigh 1 each
    does = kto
