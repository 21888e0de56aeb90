"""Lessons for the models from a tree: its best answers, and pairs of steps of which one is worth more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.collect.nodes import Node, Tree
from assay.collect.walks import backed_up, stepwise
from assay.memory.episodes import bare
from assay.part import Count, Curator, Positive, Remembering
from assay.types import Episode, Row

if TYPE_CHECKING:
    from assay.memory import Memory

BEST = "best"
STORE = "preferences"


def mean_quality(leaf: Node) -> float:
    """The mean Q of the steps of an answer."""
    return float(np.mean([node.quality for node in leaf.line() if node.episode is not None]))


def best_trajectories(rows: Sequence[Row], *, most: int) -> list[Row]:
    """The rows. In each tree the `most` right answers with the highest mean Q get the tag `best`."""
    found = set()
    for members in stepwise([row.episode for row in rows]):
        right = [leaf for leaf in backed_up(members).backed if leaf.outcome > 0]
        found |= {id(leaf.episode) for leaf in sorted(right, key=mean_quality, reverse=True)[:most]}
    return [row.mark(tag=BEST) if id(row.episode) in found else row for row in rows]


class BestTrajectories(Curator):
    """Tags the right answers of each tree whose steps have the highest Q on average, for `hold-tagged` to hold
    (rStar-Math 2501.04519). An answer's Q at a step is the mean outcome, 1 or -1, of all answers that came from it.

        curate=(BestTrajectories(most=2), NoTraining())
        --mechanism.curate best-trajectories,no-training --mechanism.curate.0.most 2
    """

    writes = ("rows",)

    most: Count = 2  # of a tree
    does = best_trajectories


def step_pairs(tree: Tree, *, each: int, margin: float, visits: int) -> list[tuple[Node, Node]]:
    """(winner, loser) of all pairs of a tree.

    Steps after the same beginning are compared: of the steps that lead to right answers, the `each` with the highest Q
    win over the `each` with the lowest Q of the steps that lead to wrong answers, if their Q differs by `margin`. A
    step counts only if `visits` answers or more came from it. Whole answers are compared too: the right ones with the
    highest mean Q win over the wrong ones with the lowest.
    """
    right = {node for leaf in tree.backed if leaf.outcome > 0 for node in leaf.line()}
    wrong = {node for leaf in tree.backed if leaf.outcome < 0 for node in leaf.line()}
    pairs: list[tuple[Node, Node]] = []
    for parent in (tree.root, *tree.nodes):
        steps = [child for child in parent.children if not child.ended and child.visits >= visits]
        high, low = _extremes(steps, right, wrong, {node: node.quality for node in steps}, each)
        pairs += [(a, b) for a in high for b in low if a.quality - b.quality >= margin]
    high, low = _extremes(tree.backed, right, wrong, {leaf: mean_quality(leaf) for leaf in tree.backed}, each)
    return pairs + [(a, b) for a in high for b in low]


def _extremes(
    nodes: Sequence[Node], right: set[Node], wrong: set[Node], worth: Mapping[Node, float], each: int
) -> tuple[list[Node], list[Node]]:
    high = sorted((node for node in nodes if node in right), key=lambda node: -worth[node])[:each]
    low = sorted((node for node in nodes if node in wrong), key=lambda node: worth[node])[:each]
    return high, low


def keep_preferences(
    memory: Memory, *, episodes: Sequence[Episode], each: int, margin: float, visits: int, place: str
) -> Memory:
    """The memory with the pairs of this step's trees, which replace older pairs of the same problems."""
    new: dict[str, list[list[int]]] = {}
    texts: list[Episode] = []
    for members in stepwise(episodes):
        pairs = step_pairs(backed_up(members), each=each, margin=margin, visits=visits)
        nodes = list(dict.fromkeys(_both(pairs)))
        if pairs:
            new[members[0].request.group] = [[nodes.index(winner), nodes.index(loser)] for winner, loser in pairs]
            texts += [bare(node.episode) for node in nodes if node.episode is not None]
    problems = {text.request.problem.id for text in texts}
    kept = [text for text in memory.kept.get(place, ()) if text.request.problem.id not in problems]
    groups = {text.request.group for text in kept}
    old = {group: pairs for group, pairs in memory.store(place).items() if group in groups}
    return memory.hold(place, [*kept, *texts]).keep(place, old | new)


def _both(pairs: Iterable[tuple[Node, Node]]) -> Iterable[Node]:
    return (node for pair in pairs for node in pair)


class KeepPreferences(Remembering):
    """Stores pairs of steps, and of answers, of the trees of `step-search`, for `prefer-steps` (rStar-Math 2501.04519).

    The winner of a pair has a Q that is `margin` higher. In a pair of steps both go on from the same beginning; in a
    pair of answers, one is right and one wrong.

        remember=(KeepPreferences(margin=0.5),)
        --mechanism.remember keep-preferences --mechanism.remember.0.margin 0.5
    """

    keeps = STORE

    each: Count = 2  # the winners and the losers at each place
    margin: Positive = 0.5  # the least difference in Q
    visits: Count = 3  # the least number of answers from a step; of fewer its Q says little
    does = keep_preferences
    needs = ("texts",)
