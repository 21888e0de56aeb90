"""What training changed in the weights of a model: Delta W = W_1 - W_0 of each parameter, its kind and its layer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.lab.analyses.measure import Lacking

if TYPE_CHECKING:
    from assay.lab.analyses.pair import Pair

Weights = Mapping[str, np.ndarray]
ATTENTION, MLP = ("q", "k", "v", "o"), ("gate", "up", "down")
_PROJECTION = re.compile(r"\.(q|k|v|o|gate|up|down)_proj\.weight$")
_LAYER = re.compile(r"(?:^|\.)layers?\.(\d+)\.")
_EMBEDDINGS = ("embed", "lm_head", "wte", "wpe")


@dataclass(frozen=True, eq=False)
class Change:
    """A parameter before and after training.

    Change("model.layers.0.self_attn.q_proj.weight", before, after).kind == "q"
    """

    name: str
    before: np.ndarray
    after: np.ndarray

    @property
    def delta(self) -> np.ndarray:
        return self.after - self.before

    @property
    def kind(self) -> str:
        """`q`, `k`, `v`, `o`, `gate`, `up`, `down`; `embedding`, also of a head; `vector`: norms and biases; `matrix`:
        any other.
        """
        if matched := _PROJECTION.search(self.name):
            return matched[1]
        if any(word in self.name for word in _EMBEDDINGS):
            return "embedding"
        return "matrix" if self.before.ndim == 2 else "vector"

    @property
    def layer(self) -> int | None:
        """The number of its layer; None for what stands in none."""
        matched = _LAYER.search(self.name)
        return int(matched[1]) if matched else None

    @property
    def inner(self) -> bool:
        """Whether it is a matrix inside the network: neither an embedding nor a head, a norm or a bias."""
        return self.before.ndim == 2 and self.kind != "embedding"


def changes(before: Weights, after: Weights) -> list[Change]:
    """The changes of two models of one architecture, in the order of their parameters."""
    return [Change(name, array, after[name]) for name, array in before.items()]


def changed(pair: Pair) -> list[Change]:
    """The changes of a pair; `Lacking` where there are none."""
    both = changes(*pair.weights)
    if not any(np.any(change.after != change.before) for change in both):
        raise Lacking(f"{pair.base.name} and {pair.child.name} have the same weights: nothing was trained.")
    return both


def inner(both: Iterable[Change]) -> list[Change]:
    """The changes of matrices inside the network that did change; `Lacking` where there are none."""
    matrices = [change for change in both if change.inner and np.any(change.after != change.before)]
    if not matrices:
        raise Lacking("no matrix inside the network differs: give models with attention, MLP or other matrices.")
    return matrices


def energy(array: np.ndarray) -> float:
    """||X||_F^2, the sum of squares."""
    return float(np.vdot(array, array))


def gini(values: Sequence[float]) -> float:
    """How unequal n values >= 0 are: G = sum_i sum_j |x_i - x_j| / (2 n sum_i x_i). 0: all are equal; 1 - 1 / n: one
    has everything.
    """
    x = np.sort(np.asarray(values, dtype=float))
    n, total = len(x), float(x.sum())
    return float((2 * np.arange(1, n + 1) - n - 1) @ x / (n * total)) if total > 0 else 0.0


def first_direction(matrix: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """(sigma_1, u_1, v_1): the largest singular value of a matrix and its directions, from the eigenvectors of the
    smaller of X X^T and X^T X.
    """
    tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.T if tall else matrix
    u = np.linalg.eigh(x @ x.T)[1][:, -1]
    v = x.T @ u
    size = float(np.linalg.norm(v))
    v = v / size if size > 0 else v
    return (size, v, u) if tall else (size, u, v)
