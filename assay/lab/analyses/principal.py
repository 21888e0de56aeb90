"""Where a change lies in matrices: which weights a format shows as changed, and what it does to the principal part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from assay.lab.analyses.changes import Weights, energy
from assay.rng import Key

KEY = Key("off-principal")
RANKS = (8, 32, 128)  # of the principal part; no larger than a quarter of the smaller side
ALPHA = 0.3  # the share of the weights that a mask holds
ETA = 1e-3  # the relative change from which on a weight counts as changed
DRAWS = 10_000  # of the distribution of the energy of a change in random directions


@dataclass(frozen=True)
class Visible:
    """The share of the weights that a format or a threshold shows as unchanged.

    Visible(bf16=0.77, relative=0.51, exact=0.0)
    """

    bf16: float  # the same after rounding to bf16
    relative: float  # |w - w'| <= eta max(|w|, |w'|)
    exact: float  # the same number


@dataclass(frozen=True)
class Turned:
    """What an update did to the spectrum and the directions of matrices: means over them.

    Turned(drift=1e-4, largest=0.3, mean=0.1, principal=0.25, low=0.41, inside=1e-4, outside=2e-4, rank=12.0)
    """

    drift: float  # ||sigma(W_1) - sigma(W_0)|| / ||sigma(W_0)||
    largest: float  # degrees, the largest angle between the first k directions before and after
    mean: float  # degrees, the mean of these angles
    principal: float | None  # of the weights that bf16 shows as changed, the share among the principal ones
    low: float | None  # the share among those of low magnitude
    neither: float | None  # the share among the principal ones that are not of low magnitude
    inside: float  # mean |Delta w| of principal weights
    outside: float  # mean |Delta w| of the others
    rank: float  # stable rank, ||Delta W||_F^2 / sigma_1^2

    @property
    def magnitude(self) -> float | None:
        """Mean |Delta w| inside over outside: below 1, principal weights move less. No threshold enters it. None where
        nothing moved outside.
        """
        return self.inside / self.outside if self.outside > 0 else None


@dataclass(frozen=True)
class Directed:
    """The energy of an update within the first k directions on both sides, over its mean in random directions.

    Directed(rank=32, ratio=0.8, low=0.97, high=1.03)
    """

    rank: int
    ratio: float
    low: float  # 2.5 % of random directions lie below
    high: float  # 2.5 % of random directions lie above

    @property
    def word(self) -> str:
        if self.ratio < self.low:
            return "off-principal"
        return "on-principal" if self.ratio > self.high else "in random directions"


def as_bf16(array: np.ndarray) -> np.ndarray:
    """The numbers rounded to bf16, to the nearest with ties to even: 8 significant bits of a float32."""
    bits = np.ascontiguousarray(array, dtype=np.float32).view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return rounded.astype(np.uint32).view(np.float32).astype(np.float64)


def precision(weights: Weights) -> str:
    """The narrowest of bf16, fp16 and fp32 that holds every weight as it is; `fp64` if none does."""
    for name, narrow in (("bf16", as_bf16), ("fp16", _through(np.float16)), ("fp32", _through(np.float32))):
        if all(np.array_equal(narrow(array), array) for array in weights.values()):
            return name
    return "fp64"


def _through(kind: type[np.floating]) -> Callable[[np.ndarray], np.ndarray]:
    def narrowed(array: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):  # what does not fit becomes infinite, and is then unequal
            return array.astype(kind).astype(np.float64)

    return narrowed


def visible(before: np.ndarray, after: np.ndarray, *, eta: float = ETA) -> Visible:
    """The shares of unchanged weights by three definitions; see `Visible`."""
    near = np.abs(after - before) <= eta * np.maximum(np.abs(before), np.abs(after))
    return Visible(
        bf16=float((as_bf16(before) == as_bf16(after)).mean()),
        relative=float(near.mean()),
        exact=float((before == after).mean()),
    )


def spectral_drift(before: np.ndarray, after: np.ndarray) -> float:
    """NSS = ||sigma(W_1) - sigma(W_0)||_2 / ||sigma(W_0)||_2, singular values in descending order."""
    return float(np.linalg.norm(after - before) / np.linalg.norm(before))


def angles(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """The angles between two subspaces in degrees, largest last. Columns are orthonormal bases; theta_i is the arcus
    sine of the singular values of (I - A A^T) B, which is exact for small angles, where arccos(A^T B) is rounding.
    """
    rest = np.linalg.svd(after - before @ (before.T @ after), compute_uv=False)
    return np.degrees(np.arcsin(np.clip(rest[::-1], 0.0, 1.0)))


def top(scores: np.ndarray, share: float) -> np.ndarray:
    """bool: the share of the entries with the highest scores; round(share n) of them, ties by position."""
    count = round(share * scores.size)
    mask = np.zeros(scores.size, dtype=bool)
    mask[np.argsort(-scores.ravel(), kind="stable")[:count]] = True
    return mask.reshape(scores.shape)


def overlap(mask: np.ndarray, changed_there: np.ndarray) -> float | None:
    """|mask and changed| / |changed|: the share of the changed weights that are in the mask, by chance alpha. None
    where nothing changed.
    """
    count = int(changed_there.sum())
    return float((mask & changed_there).sum()) / count if count else None


@dataclass(frozen=True, eq=False)
class Spectrum:
    """A matrix of the base with its singular values and directions.

    Spectrum.of(np.eye(16))
    """

    matrix: np.ndarray
    u: np.ndarray
    sizes: np.ndarray
    v: np.ndarray  # columns are directions

    @classmethod
    def of(cls, matrix: np.ndarray) -> Spectrum:
        u, sizes, vt = np.linalg.svd(matrix, full_matrices=False)
        return cls(matrix, u, sizes, vt.T)

    def ranks(self) -> list[int]:
        """The ranks of `RANKS` that are no larger than a quarter of the smaller side; at least that quarter itself."""
        limit = max(1, min(self.matrix.shape) // 4)
        return [rank for rank in RANKS if rank <= limit] or [limit]

    def principal(self, rank: int, share: float = ALPHA) -> np.ndarray:
        """bool: the share of the weights that are largest in |U_k S_k V_k^T|."""
        return top(np.abs((self.u[:, :rank] * self.sizes[:rank]) @ self.v[:, :rank].T), share)

    def inside(self, delta: np.ndarray, rank: int) -> float:
        """||U_k^T Delta V_k||_F^2, the energy of a change within the first k directions of both sides."""
        return energy(self.u[:, :rank].T @ delta @ self.v[:, :rank])


def turned(base: Spectrum, after: np.ndarray, rank: int) -> Turned:
    """What became of one matrix; see `Turned`."""
    delta, later = after - base.matrix, Spectrum.of(after)
    both = np.concatenate([angles(a[:, :rank], b[:, :rank]) for a, b in ((base.u, later.u), (base.v, later.v))])
    seen, principal = as_bf16(base.matrix) != as_bf16(after), base.principal(rank)
    low = top(-np.abs(base.matrix), ALPHA)
    size, first = np.abs(delta), float(np.linalg.norm(delta, 2))
    return Turned(
        drift=spectral_drift(base.sizes, later.sizes),
        largest=float(both.max()),
        mean=float(both.mean()),
        principal=overlap(principal, seen),
        low=overlap(low, seen),
        neither=overlap(principal & ~low, seen),
        inside=float(size[principal].mean()),
        outside=float(size[~principal].mean()),
        rank=energy(delta) / first**2 if first > 0 else 0.0,
    )


def mean_of(parts: Sequence[Turned]) -> Turned:
    """The mean of each number over matrices; over those that have it, where some changed nothing that bf16 shows."""
    held = {name: [getattr(part, name) for part in parts] for name in asdict(parts[0])}
    present = {name: [value for value in values if value is not None] for name, values in held.items()}
    means: dict[str, Any] = {name: float(np.mean(values)) if values else None for name, values in present.items()}
    return Turned(**means)


def noise(like: np.ndarray, key: Key) -> np.ndarray:
    """Gaussian noise with the shape and the Frobenius norm of a change."""
    drawn = key.generator().standard_normal(like.shape)
    return drawn * (energy(like) / energy(drawn)) ** 0.5


def turned_at_random(delta: np.ndarray, key: Key) -> np.ndarray:
    """A change with the same singular values in random directions on both sides."""
    sizes, generator = np.linalg.svd(delta, compute_uv=False), key.generator()
    left, right = (_orthonormal(generator.standard_normal((side, len(sizes)))) for side in delta.shape)
    return (left * sizes) @ right.T


def _orthonormal(gaussian: np.ndarray) -> np.ndarray:
    """Uniform orthonormal columns: Q of Q R = gaussian, with the signs that make the diagonal of R positive."""
    q, r = np.linalg.qr(gaussian)
    return q * np.sign(np.diag(r))


def spread(sizes: np.ndarray, shape: tuple[int, int], rank: int) -> float:
    """The variance of ||U_k^T Delta V_k||^2 over its mean k^2 / (m n) ||Delta||^2, for a change with these singular
    values s_i in random directions.

    The energy is T = sum_ij s_i s_j P_ij R_ij, where P and R are random projections to k of m, and of n, dimensions.
    Such a P has E P_ii^2 = k (k + 2) / (m (m + 2)), E P_ii P_jj = (k^2 / m - E P_ii^2) / (m - 1) and
    E P_ij^2 = (k / m - E P_ii^2) / (m - 1), so that with s4 = sum s_i^4 and c = (sum s_i^2)^2 - s4

        E T^2 = s4 E P_ii^2 E R_ii^2 + c (E P_ii P_jj E R_ii R_jj + 2 E P_ij^2 E R_ij^2)
    """
    squares = sizes**2
    s4 = float(squares @ squares)
    c = float(squares.sum() ** 2) - s4
    (p2, p11, e), (r2, r11, f) = (_moments(side, rank) for side in shape)
    second = s4 * p2 * r2 + c * (p11 * r11 + 2 * e * f)
    mean = float(squares.sum()) * rank**2 / (shape[0] * shape[1])
    return second / mean**2 - 1


def _moments(m: int, k: int) -> tuple[float, float, float]:
    """(E P_ii^2, E P_ii P_jj, E P_ij^2) of a random projection to k of m dimensions."""
    own = k * (k + 2) / (m * (m + 2))
    return own, (k**2 / m - own) / (m - 1), (k / m - own) / (m - 1)


def directed(spectra: Sequence[Spectrum], deltas: Sequence[np.ndarray], rank: int) -> Directed:
    """rho = sum ||U_k^T Delta V_k||^2 / sum ||Delta||^2 k^2 / (m n), over matrices that each cap k at their own limit.

    Random directions give 1 on average. The interval is for changes with the same singular values whose directions are
    drawn in each matrix alone: a gamma distribution with the mean and the variance that `spread` gives.
    """
    mine = [min(rank, spectrum.ranks()[-1]) for spectrum in spectra]
    inside, expected, variance = 0.0, 0.0, 0.0
    for spectrum, delta, k in zip(spectra, deltas, mine, strict=True):
        mean = energy(delta) * k**2 / delta.size
        inside, expected = inside + spectrum.inside(delta, k), expected + mean
        sizes = np.linalg.svd(delta, compute_uv=False)
        variance += mean**2 * spread(sizes, (delta.shape[0], delta.shape[1]), k)
    wide = max(variance / expected**2, 1e-12)
    drawn = KEY("energy", rank).generator().gamma(1 / wide, wide, size=DRAWS)
    low, high = np.quantile(drawn, (0.025, 0.975))
    return Directed(rank, inside / expected, float(low), float(high))
