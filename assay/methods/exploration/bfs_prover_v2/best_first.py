"""Best-first search for proofs: a node is the state behind a tactic that the prover took, and the best is expanded."""

from __future__ import annotations

from collections.abc import Sequence

from assay.collect.nodes import Node, Tree, grown
from assay.collect.steps import behind_reply
from assay.part import Count, Expansion, Proportion
from assay.types import Episode, Request, by_group


def priority(node: Node, *, alpha: float) -> float:
    """sum_i log pi(a_i | s_i) / L^alpha over the L tactics on the way to a node."""
    assert node.episode is not None
    return sum(segment.written[0] for segment in node.episode.segments if not segment.is_reply) / node.depth**alpha


def open_nodes(tree: Tree) -> list[Node]:
    """The nodes that a search may expand: nothing follows them yet, and the prover took their last tactic."""
    return [node for node in tree.frontier if node.episode is not None and not node.episode.segments[-1].failed]


def best_first(episodes: Sequence[Episode], *, alpha: float, expansions: int) -> list[Request]:
    """Requests for the tactics behind the best node of each tree, as many as the root has; none for a theorem that is
    proved, or whose budget is used up.
    """
    asked: list[Request] = []
    for group in by_group([e for e in episodes if e.request.halts and e.provenance == "fresh"]).values():
        tree = grown(group.members, alike=True)
        if len(tree.rounds) >= expansions or any(member.right for member in group.members):
            continue
        width = sum(member.request.round == 0 for member in group.members)
        for node in sorted(open_nodes(tree), key=lambda one: priority(one, alpha=alpha), reverse=True):
            assert node.episode is not None
            requests = behind_reply(node.episode, width, first=len(group.members), round=len(tree.rounds))
            if requests:
                asked += requests
                break
    return asked


class BestFirst(Expansion):
    """Expands the node with the highest sum_i log pi(a_i | s_i) / L^alpha of each theorem's tree, L the number of
    tactics on the way to it, until the theorem is proved; `expansions` times, the root's among them (BFS-Prover-V2
    2509.06493).

        ask=(FirstTactics(),), expand=(BestFirst(alpha=0.5),)
        --mechanism.ask first-tactics --mechanism.expand best-first --mechanism.expand.0.alpha 0.5
    """

    continues = True

    alpha: Proportion = 0.5  # 0: long proofs are hardly tried; 1: the mean log-prob of a tactic alone counts
    expansions: Count = 32
    does = best_first
    needs_verdict = True
