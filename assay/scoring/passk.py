"""pass@k and its relatives: estimates of what k samples achieve, from n samples of each problem of which c were right.

Legend: M problems, n[M] samples, c[M] right samples. All estimators are unbiased over the samples; for k above n there
is no unbiased estimate, and it is refused.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np

from assay.errors import DataError
from assay.rng import Key

Counts = np.ndarray  # int64[M]
Values = np.ndarray  # float64[M]

MAX_EXACT_K = 8
MAX_EXACT_ANSWERS = 6
MONTE_CARLO_DRAWS = 256


def pass_at_k(n: Counts | Sequence[int], c: Counts | Sequence[int], *, k: int) -> Values:
    """P(at least one right in k of the n without replacement) = 1 - C(n-c, k) / C(n, k), per problem (2107.03374)."""
    n, c = _counts(n, c, k)
    return 1.0 - _none_right(n, c, k)


def all_at_k(n: Counts | Sequence[int], c: Counts | Sequence[int], *, k: int) -> Values:
    """P(all k right) = C(c, k) / C(n, k), per problem."""
    n, c = _counts(n, c, k)
    return _none_right(n, n - c, k)


def avg_at_k(n: Counts | Sequence[int], c: Counts | Sequence[int], *, k: int) -> Values:
    """Expected share of right ones among k draws: c / n for every k, the pass@1 estimate."""
    n, c = _counts(n, c, k)
    return c / n


def pass_variance(n: Counts | Sequence[int], c: Counts | Sequence[int], *, k: int) -> Values:
    """Unbiased variance of the pass@k estimate of each problem over its draws: q_k^2 - q_2k, with q = 1 - pass.

    E q_2k = (1-p)^{2k} = (E q_k)^2, hence the difference; it needs n >= 2k.
    """
    n, c = _counts(n, c, 2 * k)
    return np.maximum(_none_right(n, c, k) ** 2 - _none_right(n, c, 2 * k), 0.0)


def pass_errors(n: Counts | Sequence[int], c: Counts | Sequence[int], *, k: int) -> tuple[float, float]:
    """Two standard errors of the mean pass@k: for other samples of these problems, and for other problems.

    The second contains the first, so that they are never added. The first needs 2k samples of every problem, and is NaN
    with fewer; the second needs two problems.
    """
    values = pass_at_k(n, c, k=k)
    enough = int(np.min(n)) >= 2 * k
    fixed = math.sqrt(float(pass_variance(n, c, k=k).sum())) / len(values) if enough else math.nan
    return fixed, float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.nan


def unsolved_bound(n: int, *, level: float = 0.95) -> float:
    """The largest chance of a right answer that n wrong ones do not exclude: 1 - (1 - level)^(1/n), about 3 / n."""
    if n < 1:
        raise DataError("nothing can be said of a problem without a sample.")
    return 1.0 - (1.0 - level) ** (1.0 / n)


def area(passes: Mapping[int, float]) -> float:
    """The mean height of a pass@k curve over log k, from its least to its largest k: one number for a whole curve."""
    ks = sorted(passes)
    if len(ks) < 2:
        raise DataError(f"the area below a pass@k curve needs two values of k, not {ks}.")
    x = [math.log2(k) for k in ks]
    steps = ((x[i + 1] - x[i]) * (passes[ks[i]] + passes[ks[i + 1]]) / 2 for i in range(len(ks) - 1))
    return sum(steps) / (x[-1] - x[0])


def credit_at_k(n: Counts | Sequence[int], c: Counts | Sequence[int], *, credit: Sequence[float]) -> Values:
    """E of credit[J] where J of k = len(credit) - 1 draws are right: sum_j credit[j] Hyp(j; n, c, k), per problem.

    [0, 1, ..., 1] is pass@k, [0, ..., 0, 1] all@k, j / k avg@k, 1[j >= ceil(tau k)] the G-pass@k of tau.
    """
    k = len(credit) - 1
    n, c = _counts(n, c, k)
    chosen = np.arange(k + 1)
    possible = (chosen <= c[:, None]) & (k - chosen <= (n - c)[:, None])
    right, wrong = np.minimum(chosen, c[:, None]), np.minimum(k - chosen, (n - c)[:, None])
    log = (
        _log_choose(c[:, None], right)
        + _log_choose((n - c)[:, None], wrong)
        - _log_choose(n, np.full_like(n, k))[:, None]
    )
    return np.where(possible, np.exp(log), 0.0) @ np.asarray(credit, dtype=np.float64)


def maj_at_k(
    answers: Sequence[str | None], right: Sequence[bool], *, k: int, key: Key, draws: int = MONTE_CARLO_DRAWS
) -> float:
    """Expected credit of a majority vote among k of one problem's n answers, drawn without replacement.

    A sample without an answer (None) gets no vote. A tie gives the mean credit of the tied answers; k samples without
    any answer give 0. The credit of an answer is the share of its samples that were right. The value is exact if there
    are few possible outcomes, else a Monte Carlo mean with a standard error of at most 1 / (2 sqrt(draws)).
    """
    _counts([len(answers)], [sum(right)], k)
    distinct = sorted({answer for answer in answers if answer is not None})
    index = {answer: i for i, answer in enumerate(distinct)} | {None: len(distinct)}
    size = np.zeros(len(distinct) + 1, dtype=np.int64)
    hits = np.zeros(len(distinct) + 1)
    for answer, is_right in zip(answers, right, strict=True):
        size[index[answer]] += 1
        hits[index[answer]] += is_right
    credit = hits[:-1] / np.maximum(size[:-1], 1)
    if k <= MAX_EXACT_K and len(distinct) <= MAX_EXACT_ANSWERS:
        ballots = _compositions(k, len(size))
        possible = ballots[(ballots <= size).all(axis=1)]
        log = _log_choose(np.broadcast_to(size, possible.shape), possible).sum(axis=1)
        weight = np.exp(log - math.log(math.comb(len(answers), k)))
        return float(weight @ _votes(possible, credit))
    ballots = key("maj", k).generator().multivariate_hypergeometric(size, k, size=draws)
    return float(_votes(ballots, credit).mean())


def _votes(ballots: np.ndarray, credit: np.ndarray) -> np.ndarray:
    """Credit of each ballot [R, answers + 1]; the last column counts those without an answer."""
    if not len(credit):
        return np.zeros(len(ballots))
    named = ballots[:, :-1]
    top = named.max(axis=1, keepdims=True)
    tied = (named == top) & (top > 0)
    return (tied * credit).sum(axis=1) / np.maximum(tied.sum(axis=1), 1)


@functools.lru_cache(maxsize=64)
def _compositions(total: int, parts: int) -> np.ndarray:
    """All ways to write `total` as an ordered sum of `parts` numbers >= 0: int64[*, parts]."""
    bars = np.array(list(itertools.combinations(range(total + parts - 1), parts - 1)), dtype=np.int64)
    bars = bars.reshape(math.comb(total + parts - 1, parts - 1), parts - 1)
    first = np.full((len(bars), 1), -1)
    last = np.full((len(bars), 1), total + parts - 1)
    return np.diff(np.hstack([first, bars, last]), axis=1) - 1


def _none_right(n: Counts, c: Counts, k: int) -> Values:
    """C(n-c, k) / C(n, k) as a product of factors in [0, 1]: exactly 1 for c = 0, exactly 0 for n - c < k."""
    product = np.ones(len(n))
    for j in range(k):
        product *= np.maximum(n - c - j, 0) / (n - j)
    return product


def _log_choose(n: np.ndarray, k: np.ndarray) -> np.ndarray:
    table = _log_factorials(int(n.max(initial=0)))
    return table[n] - table[k] - table[n - k]


@functools.lru_cache(maxsize=64)
def _log_factorials(largest: int) -> np.ndarray:
    return np.array([math.lgamma(i + 1) for i in range(largest + 1)])


def _counts(n: Counts | Sequence[int], c: Counts | Sequence[int], k: int) -> tuple[Counts, Counts]:
    n, c = np.asarray(n, dtype=np.int64), np.asarray(c, dtype=np.int64)
    if n.shape != c.shape or n.ndim != 1:
        raise DataError(f"n and c must be lists of equal length, not of shapes {n.shape} and {c.shape}.")
    if (c < 0).any() or (c > n).any():
        raise DataError("a problem has more right answers than samples, or a negative number of them.")
    if k < 1:
        raise DataError(f"k is a number of samples: it must be at least 1, not {k}.")
    if (n < k).any():
        raise DataError(
            f"k = {k} needs {k} valid samples of every problem, but {int((n < k).sum())} of {len(n)} have fewer "
            f"(the least is {int(n.min())}). Draw more samples or ask for k <= {int(n.min())}."
        )
    return n, c
