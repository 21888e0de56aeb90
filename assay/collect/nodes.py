"""Trees whose nodes are steps of answers: rebuilt from the episodes of a group in every round of the collection.

Each node is an episode, each expansion a round of its group.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from assay.types import Episode


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
        return 1.0 if self.episode is not None and self.episode.right else -1.0

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

    @functools.cached_property
    def tokens(self) -> bytes:
        """The tokens that the policy wrote in this step."""
        assert self.episode is not None
        own = self.episode.segments[len(self.episode.request.prefix) :]
        return b"".join(segment.ids.astype("<i4").tobytes() for segment in own)

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
    """The nodes of one group, in the order of the rounds: each stands behind the node that it goes on from."""

    root: Node
    nodes: list[Node]
    by_name: dict[str, Node]  # each node by the id of the request that sampled its tokens
    rounds: list[list[Node]]
    backed: list[Node] = field(default_factory=list)  # the answers whose outcome flowed back, in this order

    @property
    def frontier(self) -> list[Node]:
        """The nodes that the search may expand."""
        return [node for node in self.nodes if not node.ended and not node.children]


def grown(episodes: Sequence[Episode], *, alike: bool = False) -> Tree:
    """The tree of a group's episodes, without values. With `alike`, steps from one node that have the same tokens are
    one node, whose episode is the first of them.
    """
    root = Node(None, None, 0)
    tree = Tree(root, [], {}, [])
    for episode in sorted(episodes, key=lambda e: e.request.round):
        parent = tree.by_name.get(episode.request.parent, root)
        node = Node(episode, parent, parent.depth + 1)
        twin = next((child for child in parent.children if child.tokens == node.tokens), None) if alike else None
        if twin is None:
            parent.children.append(node)
            tree.nodes.append(node)
        tree.by_name |= {s.node: twin or node for s in episode.segments[len(episode.request.prefix) :] if s.node}
        if len(tree.rounds) <= episode.request.round:
            tree.rounds.append([])
        if twin is None:
            tree.rounds[-1].append(node)
    return tree


def uct(node: Node, explore: float) -> float:
    """Q + lambda sqrt(ln N(parent) / N); Q alone of a node that was not visited."""
    above = node.parent.visits if node.parent else 0
    return node.quality + (explore * math.sqrt(math.log(above) / node.visits) if above and node.visits else 0.0)
