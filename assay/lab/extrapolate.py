"""`assay extrapolate`: a checkpoint that was never trained, on the line on which the weights of a run move (AlphaRL
2510.00553).

Of each matrix of attention and MLP, the change since the start has a first singular direction. This direction moves
nearly along a line; the line is fitted to the scores of the checkpoints, and read off at a score that none has reached.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.errors import ConfigError, UsageError
from assay.host import terminal

if TYPE_CHECKING:
    from torch import Tensor

    from assay.policy import Policy

FARTHEST = 4.0  # the longest predicted direction, as a multiple of that of the last checkpoint
TOLD = "extrapolation.json"


def directions(changes: Sequence[Tensor]) -> tuple[list[Tensor], Tensor]:
    """a_t = sigma_1(t) u_1(t) of each change W_t - W_0, and v_1 of the last one.

    The sign of u_1 is free: each is turned so that <u_1(t), u_1(t - 1)> >= 0, and the last v_1 with it.
    """
    import torch

    series: list[Tensor] = []
    side = changes[-1].new_zeros(changes[-1].shape[1])
    for change in changes:
        left, sizes, right = torch.linalg.svd(change, full_matrices=False)
        turned = -1.0 if series and torch.dot(series[-1], left[:, 0]) < 0 else 1.0
        series.append(turned * sizes[0] * left[:, 0])
        side = turned * right[0]
    return series, side


def predicted(series: Sequence[Tensor], scores: Sequence[float], target: float) -> Tensor:
    """Partial least squares with one component: with a' = a - mean a and y' = y - mean y

        w = sum_t y'_t a'_t,  tau_t = <a'_t, w>,  p = sum tau_t a'_t / sum tau_t^2,  q = sum tau_t y'_t / sum tau_t^2
        a* = mean a + p (y* - mean y) / q

    A matrix that did not move with the scores keeps its mean.
    """
    import torch

    a, y = torch.stack(list(series)), torch.tensor(list(scores), dtype=series[0].dtype)
    moved, gained = a - a.mean(0), y - y.mean()
    tau = moved @ (gained @ moved)
    slope = tau @ gained
    if slope.abs() <= 1e-30:
        return a.mean(0)
    return a.mean(0) + (tau @ moved) * (target - y.mean()) / slope


def extrapolated(
    start: Mapping[str, Tensor], later: Sequence[Mapping[str, Tensor]], scores: Sequence[float], target: float
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """W = W_0 + a* v_1^T for the matrices of attention and MLP; all other weights are those of the start.

    A direction that would be longer than `FARTHEST` times that of the last checkpoint is shortened to that. Also
    returns, in numbers, how far the weights went.
    """
    import torch

    weights = {name: tensor.clone() for name, tensor in start.items()}
    energy, reach, shortened = [], [], 0
    for name in matrices(start):
        changes = [(state[name].double() - start[name].double()) for state in later]
        whole = float(changes[-1].norm())
        if whole == 0:
            continue
        series, side = directions(changes)
        goal, last = predicted(series, scores, target), float(series[-1].norm())
        if float(goal.norm()) > FARTHEST * last:
            goal, shortened = goal * (FARTHEST * last / goal.norm()), shortened + 1
        energy.append((last / whole) ** 2)
        reach.append(float(goal.norm()) / last)
        weights[name] = (start[name].double() + torch.outer(goal, side)).to(start[name].dtype)
    if not energy:
        raise UsageError("no matrix of attention or MLP differs between the start and the last checkpoint.")
    told = {"matrices": len(energy), "shortened": shortened}
    return weights, told | {"rank_1_energy": sum(energy) / len(energy), "reach": sum(reach) / len(reach)}


def matrices(weights: Mapping[str, Tensor]) -> list[str]:
    """The names of the matrices of attention and MLP: neither embeddings, head, norms nor biases."""
    return [name for name, tensor in weights.items() if ".layers." in name and tensor.ndim == 2]


def extrapolate(
    start: str, checkpoints: Sequence[str], folder: Path, *, to: float, scores: Sequence[float] = ()
) -> dict[str, Any]:
    """Writes the extrapolated model to a new folder in the Hugging Face layout, and says in numbers what was done.

    `scores` has a number for each checkpoint, such as its pass@1 on validation problems; without it the scores are
    1, 2, 3, ..., and `to` counts in checkpoints.
    """
    from assay.policy import save_policy

    scores = list(scores) or [float(number) for number in range(1, len(checkpoints) + 1)]
    _check(checkpoints, scores, folder)
    first, *later = [_opened(model) for model in (start, *checkpoints)]
    for model, policy in zip(checkpoints, later, strict=True):
        _require_alike(start, first, model, policy)
    states = [policy.weights() for policy in (first, *later)]
    weights, told = extrapolated(states[0], states[1:], scores, to)
    save_policy(first, folder, weights=weights)
    record = {"start": start, "checkpoints": list(checkpoints), "scores": scores, "to": to, **told}
    (folder / TOLD).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    return {**record, "folder": str(folder)}


def _check(checkpoints: Sequence[str], scores: Sequence[float], folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} exists already; name a new or empty folder with --into.")
    if len(checkpoints) < 2:
        raise UsageError(f"a line needs two checkpoints or more beside the start, and {len(checkpoints)} came.")
    if len(scores) != len(checkpoints):
        raise UsageError(f"--scores: {len(scores)} numbers came for {len(checkpoints)} checkpoints; give one for each.")
    if max(scores) - min(scores) <= 1e-12:
        raise UsageError("--scores: all checkpoints have the same score, and there is nothing to extrapolate along.")


def _opened(model: str) -> Policy:
    """The policy of a run, of a checkpoint of a run, of a base or of a model folder."""
    from assay.policy import load_policy
    from assay.run.base_training import ready

    inner = Path(model) / "policy"
    policy = load_policy(inner if inner.is_dir() else ready(model))
    if policy.adapter is not None:
        raise UsageError(f"{model} is an adapter: merge it first with `assay export {model} FOLDER --merge`.")
    return policy


def _require_alike(start: str, first: Policy, model: str, policy: Policy) -> None:
    one, other = ({n: tuple(t.shape) for n, t in p.weights().items()} for p in (first, policy))
    if one == other and first.codec.vocab == policy.codec.vocab:
        return
    unlike = sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))
    shapes = [f"'{name}' is {one.get(name)} and {other.get(name)}" for name in unlike[:1]]
    told = shapes[0] if shapes else "their vocabularies differ"
    raise ConfigError(f"{start} and {model} are unlike models: {told}. Give checkpoints of one run, and its start.")


def run_extrapolate(arguments: argparse.Namespace) -> Any:
    found = extrapolate(
        arguments.start, arguments.checkpoints, arguments.into, to=arguments.to, scores=arguments.scores or ()
    )
    if not arguments.json:
        terminal.show(
            f"{found['matrices']} matrices, {found['reach']:.2f} times as far as the last checkpoint on average; the "
            f"first direction has {found['rank_1_energy']:.0%} of the change; {found['shortened']} were shortened"
        )
        terminal.show(found["folder"])
    return found
