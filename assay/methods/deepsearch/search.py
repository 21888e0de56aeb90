"""Search over answers written in steps: a node is a step, and values flow back from finished answers (DeepSearch).

The tree is rebuilt from the episodes in every round: each node is an episode, each expansion a round of its group.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from assay.collect.steps import by_group, next_steps
from assay.memory import Memory
from assay.part import Expansion
from assay.types import Episode, Request

FLOOR = 0.1  # the least factor by which an ancestor of a finished answer discounts the answer's value


@dataclass(eq=False)
class Node:
    """A step of an answer; the root has no episode."""

    episode: Episode | None
    parent: Node | None
    depth: int
    children: list[Node] = field(default_factory=list)
    value: float = 0.0  # the sum of the values that were backed up, not their mean
    visits: int = 0
    backed: bool = False

    @property
    def ended(self) -> bool:
        """Whether the answer ends with this step."""
        return self.episode is not None and self.episode.finish != "pause"

    @property
    def outcome(self) -> float:
        """The outcome of a finished answer: +1 if right, -1 if wrong or cut by the limit."""
        verdict = self.episode.verdict if self.episode else None
        return 1.0 if verdict is not None and verdict.status == "ok" else -1.0

    @property
    def quality(self) -> float:
        """Q, the mean of the values that were backed up through this node."""
        return self.value / self.visits if self.visits else 0.0

    @property
    def surprisal(self) -> float:
        """The mean surprisal of the tokens that the policy wrote in the answer so far."""
        assert self.episode is not None
        sums = [segment.written for segment in self.episode.segments]
        return -sum(logp for logp, _ in sums) / max(1, sum(count for _, count in sums))

    @property
    def begun(self) -> int:
        """The number of tokens that were given before the first step of the answer."""
        return next(node.episode.request.given for node in self.line() if node.depth == 1 and node.episode)

    def line(self) -> Iterator[Node]:
        """The node and its ancestors up to the root."""
        yield self
        if self.parent is not None:
            yield from self.parent.line()


@dataclass(eq=False)
class Tree:
    """The nodes of one group, with the values after all back-ups."""

    root: Node
    nodes: list[Node]
    by_name: dict[str, Node]  # each node by the id of the request that sampled its tokens
    rounds: list[list[Node]]
    backed: list[Node] = field(default_factory=list)

    @property
    def frontier(self) -> list[Node]:
        """The nodes that the search may expand."""
        return [node for node in self.nodes if not node.ended and not node.children]


def tree_of(episodes: Sequence[Episode], answers: int) -> Tree:
    """The tree of a group's episodes, in which one finished answer of each expansion is backed up, until there are
    `answers`.

    When no node is left to expand, the answers that were passed over are backed up too.
    """
    root = Node(None, None, 0)
    tree = Tree(root, [], {}, [])
    for episode in sorted(episodes, key=lambda e: e.request.round):
        parent = tree.by_name.get(episode.request.parent, root)
        node = Node(episode, parent, parent.depth + 1)
        parent.children.append(node)
        tree.nodes.append(node)
        tree.by_name |= {s.node: node for s in episode.segments[len(episode.request.prefix) :] if s.node}
        if len(tree.rounds) <= episode.request.round:
            tree.rounds.append([])
        tree.rounds[-1].append(node)
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

    Where V and v differ in sign, the value of a right answer replaces V, and that of a wrong answer is ignored.
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
    for members in by_group(episodes):
        tree = tree_of(members, group_size)
        if len(tree.backed) >= group_size or not tree.frontier:
            continue
        step = members[0].request.max_new
        last = tree.rounds[-1]
        if any(node.ended for node in last):
            weigh = functools.partial(worth, step=step / max_new, quality=quality, doubt=doubt, depth=depth)
            chosen = max(tree.frontier, key=weigh)
        else:
            chosen = max(last, key=lambda node: uct(node, explore))
        limit = max_new + chosen.begun
        assert chosen.episode is not None
        width, number = len(tree.rounds[0]), len(tree.rounds)
        asked += next_steps(chosen.episode, width, step, limit, first=len(members), round=number)
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


def uct(node: Node, explore: float) -> float:
    """Q + lambda sqrt(ln N(parent) / N)."""
    above = node.parent.visits if node.parent else 0
    return node.quality + (explore * math.sqrt(math.log(above) / node.visits) if above and node.visits else 0.0)


def worth(node: Node, step: float, quality: float, doubt: float, depth: float) -> float:
    """F of the frontier, where `step` is the length of a step as a share of the answer limit."""
    assert node.parent is not None
    below = doubt * node.surprisal if doubt else 0.0
    return quality * math.tanh(node.parent.quality) + below + depth * math.sqrt(node.depth * step)
