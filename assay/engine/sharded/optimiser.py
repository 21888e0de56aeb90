"""AdamW on a rank's shares: constants, clipping and refusal as in `assay.engine.optimiser`, with the norm of all ranks.

The step is elementwise, so a share moves exactly as it would inside the whole tensor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from assay.engine.optimiser import MOMENTS, AdamW
from assay.errors import StorageError


@dataclass
class _Moments:
    """One set of moments, with the number of steps that went into it."""

    of: dict[str, tuple[Tensor, Tensor]]  # parameter -> the shares of exp_avg and exp_avg_sq
    steps: Tensor


class ShardedAdamW:
    """AdamW on the shares of DTensor parameters."""

    def __init__(self, named: Mapping[str, nn.Parameter], values: AdamW, group: dist.ProcessGroup) -> None:
        self.named, self.values, self.group = dict(named), values, group
        self.sets: dict[str, _Moments] = {}

    def _fresh(self) -> _Moments:
        shares = {name: local(p) for name, p in self.named.items()}
        device = next(iter(shares.values())).device
        of = {name: (torch.zeros_like(share), torch.zeros_like(share)) for name, share in shares.items()}
        return _Moments(of, torch.zeros((), dtype=torch.float32, device=device))

    def _set(self, name: str) -> _Moments:
        """The set of moments of this name ("" is the main set), made when it is first asked for."""
        if name not in self.sets:
            self.sets[name] = self._fresh()
        return self.sets[name]

    @torch.no_grad()
    def step(self, *, lr: float, clip: float | None, moments: str = "") -> dict[str, float]:
        """One step on the gathered gradients, which are then cleared. If they are not finite on any rank, no parameter
        moves on any rank.
        """
        grads = {name: local(p.grad) for name, p in self.named.items() if p.grad is not None}
        norm = self._norm(grads)
        finite = norm < float("inf")
        if finite:
            if clip is not None and norm > clip:
                for grad in grads.values():
                    grad.mul_(clip / norm)
            self._move(lr, grads, moments)
        self.clear()
        return {"grad_norm": norm, "skipped": 0.0 if finite else 1.0}

    def _norm(self, grads: Mapping[str, Tensor]) -> float:
        own = torch.nn.utils.get_total_norm([grad for grad in grads.values() if grad.numel()])
        square = own.double().square().cpu() if grads else torch.zeros((), dtype=torch.float64)
        device = next(iter(grads.values())).device if grads else torch.device("cpu")
        total = square.to(device)
        dist.all_reduce(total, group=self.group)
        return float(total.sqrt())

    def _move(self, lr: float, grads: Mapping[str, Tensor], moments: str) -> None:
        held = self._set(moments)
        held.steps += 1
        for decays in (True, False):
            names = [n for n, p in self.named.items() if (p.ndim >= 2) is decays and local(p).numel()]
            if not names:
                continue
            weights = [local(self.named[name]) for name in names]
            torch.ops.aten._fused_adamw_(
                weights,
                [grads.get(name, torch.zeros_like(weight)) for name, weight in zip(names, weights, strict=True)],
                [held.of[name][0] for name in names],
                [held.of[name][1] for name in names],
                [],
                [held.steps] * len(names),
                lr=lr,
                beta1=self.values.betas[0],
                beta2=self.values.betas[1],
                weight_decay=self.values.weight_decay if decays else 0.0,
                eps=self.values.eps,
                amsgrad=False,
                maximize=False,
            )

    def clear(self) -> None:
        for parameter in self.named.values():
            parameter.grad = None

    def forget(self) -> None:
        self.sets = {}
        self.clear()

    def view(self) -> dict[str, tuple[Tensor, str | None]]:
        """The state under the names of `Optimiser.view`: a share with the parameter's name, or a count with None."""
        result: dict[str, tuple[Tensor, str | None]] = {}
        for of, held in sorted(self.sets.items()):
            before = f"{of}:" if of else ""
            result |= {f"{before}step/{name}": (held.steps, None) for name in self.named}
            for place, kind in enumerate(MOMENTS):
                result |= {f"{before}{kind}/{name}": (held.of[name][place], name) for name in self.named}
        return result

    def load(self, keys: Mapping[str, Any], read: Any) -> None:
        """Loads the state of these keys; `read(key, name)` gives the share of a tensor as `name` is shared."""
        self.forget()
        for key in keys:
            of, colon, rest = key.partition(":")
            apart = bool(colon) and "/" not in of
            kind, _, name = (rest if apart else key).partition("/")
            held = self._set(of if apart else "")
            if name not in self.named:
                raise StorageError(f"the optimiser state has '{key}', which this model does not have.")
            if kind == "step":
                held.steps.fill_(float(read(key, None)))
            else:
                held.of[name][MOMENTS.index(kind)].copy_(read(key, name))


def local(tensor: Any) -> Tensor:
    """This rank's share of a DTensor."""
    return tensor.to_local()
