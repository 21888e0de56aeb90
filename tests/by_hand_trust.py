"""What the papers of ratios, gates, masks and corrections minimise on a whole step, worked out without the library.

Losses are written as their sources write them, to be differentiated by autograd where the library has gates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

NAMES = (
    "clip-cov",
    "kl-cov",
    "cispo",
    "gspo",
    "gspo-token",
    "gmpo",
    "gppo",
    "gepo",
    "sapo",
    "dppo",
    "dppo-kl",
    "topr",
    "fork-mask",
    "tis",
    "icepop",
    "seq-mis",
    "areal",
    "two-sided-clip",
    "sequence-mask",
    "kl-reference",
    "kl-old",
    "kl-ema",
    "kl-reset",
    "entropy-target",
    "entropy-advantage",
)
UNSCALED = ("gepo", "dppo", "dppo-kl", "sequence-mask")  # advantages are not divided by the group's deviation
BY_ANSWER = ("gspo", "gspo-token", "gmpo", "gepo", "sapo", "topr", "sequence-mask", "kl-reference", "kl-ema")


@dataclass(frozen=True)
class Answer:
    """A row: what is known of each of its tokens, and which of them train."""

    logp: Tensor  # with its graph
    old: Tensor
    mu: Tensor
    ref: Tensor
    entropy: Tensor
    trained: Tensor  # bool; all False where the row is not in the loss
    advantage: float
    group: str
    right: bool
    counted: bool = True
    length: int = 0  # tokens that would train, were it in the loss
    hesitated: Tensor | None = None  # entropies when it was sampled


def loss(name: str, answers: Sequence[Answer], *, max_new: int, drawn: Sequence[Tensor] = ()) -> Tensor:
    """Of the whole step; `drawn` are the tokens that chance has taken out, answer by answer."""
    rows = sum(a.counted for a in answers)
    tokens = sum(a.length for a in answers if a.counted)
    total = torch.zeros((), dtype=torch.float64)
    for place, a in enumerate(answers):
        if not a.trained.any():
            continue
        weight = 1 / (rows * a.length) if name in BY_ANSWER else 1 / tokens
        weight = 1 / (rows * max_new) if name.startswith("dppo") else weight
        each = token_losses(name, a, answers)
        if name == "clip-cov":
            each = each * ~drawn[place]
        total = total + weight * each[a.trained].sum()
    if name == "gppo":
        liked = [a.logp[a.trained] for a in answers if a.right and a.counted]
        total = total - 0.1 * torch.cat([*liked, total.new_zeros(0)]).sum() / max(1, sum(map(len, liked)))
    return total


def token_losses(name: str, a: Answer, answers: Sequence[Answer]) -> Tensor:
    """Of each token of an answer, as a part of the sum that its aggregation weighs."""
    A, w = torch.full_like(a.logp, a.advantage).detach(), (a.logp - a.old).exp()
    rho = (a.old - a.mu).exp()
    if name == "entropy-advantage":
        assert a.hesitated is not None
        A = A + torch.minimum(0.4 * a.hesitated, A.abs() / 2)
    if name in ("gspo", "gmpo", "gepo", "topr"):
        return answer_loss(name, a, answers).expand(len(w))  # the mean over T equal numbers is the number
    if name == "gspo-token":
        return surrogate(mean(a, a.logp - a.old).exp().detach() * (a.logp - a.logp.detach()).exp(), A, 3e-4, 4e-4)
    if name == "cispo":
        return -w.clamp(max=5.0).detach() * A * a.logp
    if name == "gppo":
        held = torch.minimum(torch.maximum(w, 0.8 * w / w.detach()), 1.28 * w / w.detach())
        return torch.maximum(-w * A, -held * A)
    if name == "sapo":
        tau = torch.full_like(A, 1.05).masked_fill(A > 0, 1.0)
        return -4 / tau * torch.sigmoid(tau * (w - 1)) * A
    if name.startswith("dppo"):
        return -(a.logp - a.mu).exp().clamp(max=20.0).detach() * A * a.logp * ~left(name, a)
    if name == "kl-cov":
        worst = most_covariant(answers, 2e-3)[next(i for i, other in enumerate(answers) if other is a)]
        return -w * A + worst * (a.logp - a.old).abs()
    if name == "fork-mask":
        every = torch.cat([other.entropy[other.trained] for other in answers]).detach()
        return surrogate(w, A, 0.2, 0.28) * (a.entropy.detach() >= every.quantile(0.8))
    if name in ("tis", "icepop", "seq-mis", "entropy-advantage"):
        product = rho[a.trained].prod()
        weight = {
            "tis": rho.clamp(max=2.0),
            "icepop": rho * ((rho >= 0.5) & (rho <= 5.0)),
            "seq-mis": product * (product <= 2.0),
            "entropy-advantage": 1.0,
        }[name]
        return weight * surrogate(w, A, 0.2, 0.28, 10.0)
    if name == "areal":
        return surrogate(w, A, 0.2, 0.2) * rho * (rho <= 5.0)
    return clipped_with_terms(name, a, A, w)


def clipped_with_terms(name: str, a: Answer, A: Tensor, w: Tensor) -> Tensor:
    """A clip and what is added to it."""
    if name == "two-sided-clip":
        held = torch.maximum(-w.clamp(max=4.0) * A, -w.clamp(0.8, 1.2) * A)
        return held + 0.001 * k3(a.logp, a.ref) - 1e-4 * a.entropy
    if name == "clip-cov":
        return surrogate(w, A, 1.0, 1.0)
    if name == "kl-reset":
        return surrogate(w, A, 0.2, 0.4) + 1e-4 * k3(a.logp, a.ref)
    if name == "entropy-target":
        return surrogate(w, A, 0.2, 0.2) - a.entropy
    if name == "sequence-mask":
        fallen = mean(a, a.mu - a.logp.detach())
        followed = not (a.advantage < 0 and bool(fallen > 0.5))
        return surrogate(w, A, 0.2, 0.2) * followed + 0.001 * w * k3(a.logp, a.ref)
    anchor, weight = {"kl-old": (a.old, 1.0)}.get(name, (a.ref, 0.04))
    return surrogate(w, A, 0.2, 0.2) + weight * w * k3(a.logp, anchor)


def answer_loss(name: str, a: Answer, answers: Sequence[Answer]) -> Tensor:
    """Of an answer as a whole."""
    far, sign = a.logp - a.old, (a.advantage > 0) - (a.advantage < 0)
    if name == "gspo":
        return surrogate(mean(a, far).exp(), torch.tensor(a.advantage, dtype=torch.float64), 3e-4, 4e-4)
    if name == "gmpo":
        held = sign * torch.minimum(sign * far, sign * far.clamp(-0.4, 0.4))
        return -a.advantage * mean(a, held).exp()
    if name == "gepo":
        others = [other for other in answers if other.group == a.group and other.trained.any()]
        likely = torch.stack([mean(other, other.mu).exp() for other in others])
        expected = ((likely / likely.sum()).detach() * likely).sum()
        ratio = mean(a, a.logp).exp() / expected.detach()
        return surrogate(ratio, torch.tensor(a.advantage, dtype=torch.float64), 0.2, 0.2)
    taper = (a.logp - a.mu)[a.trained].sum().exp().clamp(0, 1).detach() if a.advantage < 0 else 1.0
    return -taper * a.advantage * mean(a, a.logp)


def mean(a: Answer, x: Tensor) -> Tensor:
    return x[a.trained].mean()


def surrogate(ratio: Tensor, advantage: Tensor, low: float, high: float, dual: float | None = None) -> Tensor:
    """max(-w A, -clip(w) A), and where A < 0 at most -dual A."""
    found = torch.maximum(-ratio * advantage, -ratio.clamp(1 - low, 1 + high) * advantage)
    return found if dual is None else torch.where(advantage < 0, torch.minimum(found, -dual * advantage), found)


def k3(logp: Tensor, ref: Tensor) -> Tensor:
    return (ref - logp).exp() - 1 + logp - ref


def left(name: str, a: Answer) -> Tensor:
    """Tokens that have gone too far from what the sampler said."""
    p, q = a.logp.detach().exp(), a.mu.exp()
    if name == "dppo":
        return (p - q > 0.15) if a.advantage > 0 else (p - q < -0.15)
    far = q * (q / p).log() + (1 - q) * ((1 - q) / (1 - p)).log() > 0.05
    return far & ((p > q) if a.advantage > 0 else (p < q))


def covariances(answers: Sequence[Answer]) -> list[Tensor]:
    """(A - mean A) (log pi - mean log pi) of each token, means over all that train."""
    logp = torch.cat([a.logp.detach()[a.trained] for a in answers]).mean()
    count = sum(int(a.trained.sum()) for a in answers)
    advantage = sum(a.advantage * int(a.trained.sum()) for a in answers) / count
    return [(a.advantage - advantage) * (a.logp.detach() - logp) for a in answers]


def most_covariant(answers: Sequence[Answer], share: float) -> list[Tensor]:
    """The largest max(1, floor(share N)) of them."""
    found = covariances(answers)
    every = torch.cat([c[a.trained] for a, c in zip(answers, found, strict=True)])
    edge = every.sort(descending=True).values[max(1, int(share * len(every))) - 1]
    return [(c >= edge) & a.trained for a, c in zip(answers, found, strict=True)]


def drawable(answers: Sequence[Answer]) -> list[Tensor]:
    """Tokens that clip-cov may take out."""
    return [
        a.trained & (c > 1.0) & (c < 5.0) & ~((a.advantage > 0) & ((a.logp - a.old).exp() > 2.0))
        for a, c in zip(answers, covariances(answers), strict=True)
    ]
