"""Routes on the way: which places of its instance each row has visited, and what it may do next.

Sampling, scoring and learning take what is legal from here, so that all three speak of one distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.engine.layout import distinct
from assay.errors import DataError
from assay.policy.routes import END
from assay.types import Ids


@dataclass(frozen=True, eq=False)
class Instances:
    """The distinct instances of some contexts, padded to the most places."""

    points: np.ndarray  # float64[I, n, 2]
    counts: np.ndarray  # int64[I]
    which: np.ndarray  # int64[R] the instance of each row

    @classmethod
    def of(cls, contexts: Sequence[Ids]) -> Instances:
        which, first = distinct(contexts)
        rows = [contexts[i] for i in first]
        if bad := [len(row) for row in rows if len(row) < 4 or len(row) % 2]:
            raise DataError(
                f"a context of {bad[0]} numbers is no routing problem: two coordinates of two or more places are"
            )
        counts = np.array([len(row) // 2 for row in rows], np.int64)
        points = np.zeros((len(rows), int(counts.max(initial=0)), 2))
        for row, count, ids in zip(points, counts, rows, strict=True):
            row[:count] = ids.reshape(-1, 2)
        return cls(points, counts, which)


@dataclass(frozen=True, eq=False)
class Steps:
    """What each of the M response tokens of some rows was chosen from."""

    which: np.ndarray  # int64[M]
    first: np.ndarray
    last: np.ndarray
    legal: np.ndarray  # bool[M, n + 1]


@dataclass(eq=False)
class Routes:
    """Rows that each build a route. Number 0 of `visited` is the end of the route, which may follow when all other
    actions may not.
    """

    visited: np.ndarray  # bool[R, n + 1] what may not be pointed at any more, places beyond the instance's too
    first: np.ndarray  # int64[R] 0: none yet
    last: np.ndarray

    @classmethod
    def begun(cls, instances: Instances) -> Routes:
        counts = instances.counts[instances.which]
        visited = np.arange(instances.points.shape[1] + 1) > counts[:, None]
        nothing = np.zeros(len(counts), np.int64)
        return cls(visited, nothing, nothing.copy())

    def legal(self, rows: np.ndarray) -> np.ndarray:
        """bool[r, n + 1]"""
        legal = ~self.visited[rows]
        legal[:, END] = ~legal[:, 1:].any(1)
        return legal

    def at(self, instances: Instances, rows: np.ndarray) -> Steps:
        """What the next actions of these rows are chosen from."""
        return Steps(instances.which[rows], self.first[rows], self.last[rows], self.legal(rows))

    def begin(self, row: int, actions: Sequence[int]) -> None:
        """Takes the actions that a request begins its route with; those that are not legal are an error."""
        for step, action in enumerate(actions):
            rows, taken = np.array([row]), np.array([action], np.int64)
            _require_legal(self.legal(rows), taken, step)
            self.go(rows, taken)

    def go(self, rows: np.ndarray, actions: np.ndarray) -> None:
        """Takes these actions, which must be legal."""
        on, to = rows[actions != END], actions[actions != END]
        self.visited[on, to] = True
        self.first[on] = np.where(self.first[on] == 0, to, self.first[on])
        self.last[on] = to


def steps(instances: Instances, answers: Sequence[Ids]) -> Steps:
    """The steps of whole answers, end to end. An action that is not legal in its place is an error."""
    lengths = np.array([len(answer) for answer in answers], np.int64)
    at = np.concatenate([[0], np.cumsum(lengths)])
    width = instances.points.shape[1] + 1
    routes, total = Routes.begun(instances), int(at[-1])
    first, last, legal = np.zeros(total, np.int64), np.zeros(total, np.int64), np.zeros((total, width), bool)
    for t in range(int(lengths.max(initial=0))):
        rows = np.flatnonzero(lengths > t)
        actions = np.array([answers[int(row)][t] for row in rows], np.int64)
        may = routes.legal(rows)
        _require_legal(may, actions, t)
        here = at[rows] + t
        first[here], last[here], legal[here] = routes.first[rows], routes.last[rows], may
        routes.go(rows, actions)
    return Steps(np.repeat(instances.which, lengths), first, last, legal)


def _require_legal(may: np.ndarray, actions: np.ndarray, step: int) -> None:
    """Refuses actions, of one step of some rows, that are not among those that may follow: bool[r, n + 1]."""
    inside = (actions >= 0) & (actions < may.shape[1])
    good = inside & may[np.arange(len(actions)), np.where(inside, actions, 0)]
    if not good.all():
        wrong = int(actions[~good][0])
        raise DataError(
            f"action {wrong} at step {step + 1} of a route is not legal: it names no place that was not visited yet. "
            "The answer was not written by a policy that builds routes."
        )
