"""What an output follows: how much of it can be told from features that are seen without solving the problem."""

from __future__ import annotations

import numpy as np

from assay.rng import Key

FOLDS = 10
SHUFFLES = 50
FEWEST = 40  # problems, of which a regression on held-out ones says something
RIDGE = 1e-3  # of a row, on standardised features, so that equal columns do no harm


def held_out_share(features: np.ndarray, values: np.ndarray, key: Key) -> float:
    """R2 on problems that were held out: 1 - sum (y - f(x))^2 / sum (y - m)^2, where f is the linear regression on
    features[M, F] and their squares, and m the mean, both of the other nine tenths of the problems. Below 0: the
    features say less than the mean does. 0 where all values are equal.
    """
    scale = features.std(axis=0)
    standard = (features - features.mean(axis=0)) / np.where(scale > 0, scale, 1.0)
    rows = np.concatenate([standard, standard**2, np.ones((len(values), 1))], axis=1)
    fold = key("folds", len(values)).generator().permutation(len(values)) % FOLDS
    left, all_ = 0.0, 0.0
    for number in range(FOLDS):
        inside, outside = fold == number, fold != number
        x, y = rows[outside], values[outside]
        weights = np.linalg.solve(x.T @ x + RIDGE * len(y) * np.eye(x.shape[1]), x.T @ y)
        left += float(((values[inside] - rows[inside] @ weights) ** 2).sum())
        all_ += float(((values[inside] - y.mean()) ** 2).sum())
    return 1.0 - left / all_ if all_ > 0 else 0.0


def beyond_truth(told: np.ndarray, truth: np.ndarray, features: np.ndarray, key: Key) -> dict[str, float] | None:
    """How much of what is told[M] follows the features, the truth, and the features beyond the truth, each as R2 on
    held-out problems. Truth and features go together, so that only the last is a shortcut: a solver that errs by
    chance has none. `by luck` is its 95 % quantile when features are shuffled among problems of equal truth. None for
    less than `FEWEST` problems with an answer.
    """
    rows = np.flatnonzero(~np.isnan(told))
    if len(rows) < FEWEST:
        return None
    told, truth, features = told[rows], truth[rows], features[rows]
    indicators = (truth[:, None] == np.unique(truth)[None, 1:]).astype(float)
    alone = held_out_share(indicators, told, key) if indicators.shape[1] else 0.0
    more = held_out_share(np.concatenate([indicators, features], axis=1), told, key) - alone
    generator, luck = key("shuffles").generator(), []
    for _ in range(SHUFFLES):
        order = np.arange(len(rows))
        for value in np.unique(truth):
            same = np.flatnonzero(truth == value)
            order[same] = generator.permutation(same)
        luck.append(held_out_share(np.concatenate([indicators, features[order]], axis=1), told, key) - alone)
    return {
        "features": held_out_share(features, told, key),
        "truth": alone,
        "features beyond the truth": more,
        "the last by luck": float(np.quantile(luck, 0.95)),
    }
