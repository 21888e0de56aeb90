"""Search over answers written in steps: a node is a step, and values flow back from finished answers (DeepSearch)."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

from assay.collect.nodes import Node, Tree, grown, uct
from assay.collect.steps import next_steps
from assay.memory import Memory
from assay.part import Expansion
from assay.types import Episode, Request, by_group

FLOOR = 0.1  # the least factor by which an ancestor of a finished answer discounts the answer's value


def tree_of(episodes: Sequence[Episode], answers: int) -> Tree:
    """The tree of a group's episodes, in which one finished answer of each expansion is backed up, until there are
    `answers`.

    When no node is left to expand, the answers that were passed over are backed up too.
    """
    tree = grown(episodes)
    for nodes in tree.rounds:
        for node in nodes:
            node.visits += not node.ended
        for node in _best(nodes)[:1]:
            _back_up(tree, node, answers)
    if not tree.frontier:
        for node in _best([node for node in tree.nodes if not node.backed]):
            _back_up(tree, node, answers)
    return tree


def _best(nodes: Sequence[Node]) -> list[Node]:
    """The finished answers with a verdict: right ones first, among equals the surest first."""
    judged = [node for node in nodes if node.ended and node.episode is not None and node.episode.reward is not None]
    return sorted(judged, key=lambda node: (-node.outcome, node.surprisal))


def _back_up(tree: Tree, leaf: Node, answers: int) -> None:
    """V <- V + gamma v at each ancestor, where gamma = (d + 1) / (d_leaf + 1), at least `FLOOR`.

    If V and v differ in sign, gamma v of a right answer replaces V, and gamma v of a wrong answer is ignored.
    """
    if len(tree.backed) >= answers:
        return
    for node in leaf.line():
        push = max((node.depth + 1) / (leaf.depth + 1), FLOOR) * leaf.outcome
        node.visits += 1
        if node.value * push >= 0:
            node.value += push
        elif push > 0:
            node.value = push
    leaf.backed = True
    tree.backed.append(leaf)


def search(
    episodes: Sequence[Episode],
    memory: Memory,
    *,
    group_size: int,
    max_new: int,
    explore: float,
    quality: float,
    doubt: float,
    depth: float,
) -> list[Request]:
    """Requests for the next steps from one node of each tree, as many as the root has; none for a tree that is done."""
    asked = []
    for group in by_group(episodes).values():
        tree = tree_of(group.members, group_size)
        if len(tree.backed) >= group_size or not tree.frontier:
            continue
        step = group.members[0].request.max_new
        last = tree.rounds[-1]
        if any(node.ended for node in last):
            weigh = functools.partial(worth, step=step / max_new, quality=quality, doubt=doubt, depth=depth)
            chosen = max(tree.frontier, key=weigh)
        else:
            chosen = max(last, key=lambda node: uct(node, explore))
        limit = max_new + chosen.begun
        assert chosen.episode is not None
        width, number = len(tree.rounds[0]), len(tree.rounds)
        asked += next_steps(chosen.episode, width, step, limit, first=len(group.members), round=number)
    return asked


class Search(Expansion):
    """Expands one node of each group's tree a round, until as many answers are backed up as a group has rows.

    While no answer of the last expansion has ended, UCT picks the next node from that expansion. Otherwise the search
    picks the best node of the whole frontier: F = quality tanh Q(parent) + doubt H + depth sqrt(d / D), where H is the
    mean surprisal of the answer so far.

        expand=(Search(quality=0.4),)
        --mechanism.expand search --mechanism.expand.0.quality 0.4
    """

    continues = True

    explore: float = 2.0  # lambda of UCT
    quality: float = 0.4
    doubt: float = 0.0
    depth: float = 0.01
    does = search
    needs = ("texts",)


def worth(node: Node, step: float, quality: float, doubt: float, depth: float) -> float:
    """F of the frontier, where `step` is the length of a step as a share of the answer limit."""
    assert node.parent is not None
    below = doubt * node.surprisal if doubt else 0.0
    return quality * math.tanh(node.parent.quality) + below + depth * math.sqrt(node.depth * step)
