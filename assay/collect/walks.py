"""Monte-Carlo tree search over the steps of answers, in walks from the root, which a model may guide."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from assay.ask import Codec
from assay.collect.nodes import Node, Tree, grown, uct
from assay.collect.steps import next_steps
from assay.models import Models
from assay.part import Count, Expansion
from assay.reward.learnt import read, scores_after
from assay.scale import Output
from assay.tasks import chains_of
from assay.tasks.steps import Chain
from assay.types import Episode, Request, by_group


@dataclass(frozen=True)
class Seen:
    """The findings on an answer, or on its beginning, besides its tokens."""

    stuck: bool  # its last steps are all wrong
    score: float | None  # of the model, in (-1, 1); None without a model


@dataclass(eq=False)
class Walked:
    """A tree with the values that UCT reads."""

    tree: Tree
    shut: frozenset[Node]  # nodes that nothing follows: answers that ended, that are stuck, or that reached a limit
    spent: frozenset[Node]  # the shut nodes, and nodes of which all children are spent

    @property
    def walks(self) -> int:
        """How many walks from the root have come to a step after which all next steps are shut."""
        return sum(self.shut.issuperset(nodes) for nodes in self.tree.rounds)

    def next(self, explore: float) -> Node | None:
        """The node to expand: the walk goes on from the last expansion, or begins again at the root, and follows the
        highest UCT down to a node without children. None if all of the tree is spent.
        """
        node = self._best([child for child in self.tree.rounds[-1] if child not in self.shut], explore)
        if node is not None:
            return node
        node = self._best(self.tree.root.children, explore)
        while node is not None and node.children:
            node = self._best(node.children, explore)
        return node

    def _best(self, nodes: Iterable[Node], explore: float) -> Node | None:
        """Of the nodes that are not spent, the first with the highest UCT."""
        return max(
            (node for node in nodes if node not in self.spent), key=lambda node: uct(node, explore), default=None
        )


def stepwise(episodes: Sequence[Episode]) -> list[list[Episode]]:
    """The groups whose answers were asked for step by step."""
    groups = by_group([episode for episode in episodes if episode.provenance == "fresh"]).values()
    return [group.members for group in groups if group.members[0].request.pauses]


def outcome(answer: Episode) -> float | None:
    """1 if the answer is right and -1 if it is wrong; None if it was cut, or if we failed to verify it."""
    return (1.0 if answer.right else -1.0) if answer.finish == "stop" and answer.verified else None


def backed_up(members: Sequence[Episode], worth: Callable[[Episode], float | None] = outcome) -> Tree:
    """The tree of a group. Of each node, V is the sum of the values of the answers that came from it, and N their
    number. Equal steps from one node are one node.
    """
    tree = grown(members, alike=True)
    for leaf in tree.nodes:
        value = worth(_episode(leaf)) if leaf.ended else None
        if value is not None:
            for node in leaf.line():
                node.visits, node.value = node.visits + 1, node.value + value
            leaf.backed = True
            tree.backed.append(leaf)
    return tree


def walked(
    members: Sequence[Episode],
    seen: Mapping[str, Seen],
    *,
    limit: int,
    depth: int,
    worth: Callable[[Episode], float | None] = outcome,
) -> Walked:
    """The tree of a group, in which the score of a step counts as its first visit. An answer that was cut, is stuck or
    has `depth` steps has -1 for its last step alone.
    """
    tree = backed_up(members, worth)
    shut = {node for node in tree.nodes if _is_shut(node, seen, limit, depth)}
    for node in tree.nodes:
        finish, about = _episode(node).finish, seen.get(_episode(node).request.id)
        if node.ended and finish != "length":
            continue
        first = -1.0 if node in shut else about.score if about is not None else None
        if first is not None:
            node.value, node.visits = node.value + first, node.visits + 1
    spent = set(shut)
    for node in reversed(tree.nodes):
        if node.children and spent.issuperset(node.children):
            spent.add(node)
    return Walked(tree, frozenset(shut), frozenset(spent))


def _episode(node: Node) -> Episode:
    assert node.episode is not None
    return node.episode


def _is_shut(node: Node, seen: Mapping[str, Seen], limit: int, depth: int) -> bool:
    about = seen.get(_episode(node).request.id)
    stuck = about is not None and about.stuck
    return node.ended or stuck or node.depth >= depth or len(_episode(node)) >= limit + node.begun


def step_search(
    episodes: Sequence[Episode],
    *,
    models: Models,
    codec: Codec,
    micro_tokens: int,
    max_new: int,
    noted: dict[str, Any],
    explore: float,
    rollouts: int,
    most: int,
    depth: int,
    errors: int,
    model: str,
    judge: str,
) -> list[Request]:
    """Requests for the steps after one node of each tree, as many as the root has; none for a tree that is done."""
    asked: list[Request] = []
    groups, wanted = stepwise(episodes), ("pause", "stop") if judge == "model" else ("pause",)
    new = [e for members in groups for e in members if e.finish in wanted and e.request.id not in noted]
    noted |= looked_at(new, models, codec, micro_tokens, errors=errors, model=model)

    def worth(answer: Episode) -> float | None:
        if judge == "verifier":
            return outcome(answer)
        about = noted.get(answer.request.id)
        return None if about is None else about.score

    for members in groups:
        first = members[0].request
        limit = first.max_new if first.marks else max_new
        search = walked(members, noted, limit=limit, depth=depth, worth=worth)
        solved = any((worth(_episode(leaf)) or 0.0) > 0 for leaf in search.tree.backed)
        node = search.next(explore) if search.walks < (rollouts if solved else most) else None
        if node is None:
            continue
        width, number = sum(e.request.round == 0 for e in members), len(search.tree.rounds)
        whole = limit + node.begun
        asked += next_steps(_episode(node), width, first.max_new, whole, first=len(members), round=number)
    return asked


def looked_at(
    episodes: Sequence[Episode], models: Models, codec: Codec, micro_tokens: int, *, errors: int, model: str
) -> dict[str, Seen]:
    """The findings on each of these answers and beginnings, by the id of its request."""
    scores: list[float | None] = [None] * len(episodes)
    if model and episodes:
        spans = [read(episode, "response", codec) for episode in episodes]
        scores = [float(np.tanh(found[-1])) for found in scores_after(models[model], spans, tokens=micro_tokens)]
    ends = zip(episodes, are_stuck(episodes, errors), scores, strict=True)
    return {e.request.id: Seen(stuck, score) for e, stuck, score in ends}


def are_stuck(episodes: Sequence[Episode], errors: int) -> list[bool]:
    """Whether the last `errors` steps of each are wrong; False where steps cannot be verified, or do not end at marks.
    Steps that have to be run are run beside each other.
    """
    verified = [e for e in episodes if errors > 0 and e.request.marks]
    chains = iter(chains_of([(e.request.problem, e.text) for e in verified]))
    marked = {id(e): next(chains) for e in verified}
    return [_ends_in(marked.get(id(e)), errors) for e in episodes]


def _ends_in(chain: Chain | None, errors: int) -> bool:
    """Whether a chain ends in so many wrong steps."""
    last = chain.steps[-errors:] if chain is not None else ()
    return len(last) == errors > 0 and all(step.verdict == "wrong" for step in last)


class StepSearch(Expansion):
    """Walks from the root of each group's tree along the highest Q + explore sqrt(ln N(parent) / N), and expands what
    it comes to, until all next steps have ended; `rollouts` times (rStar-Math 2501.04519).

    The outcomes, 1 or -1, of all answers that end in an expansion flow back to each step on their way. Where a task
    verifies steps, `errors` wrong ones in a row end an answer. With a model, its score of a step is the first of the
    step's values; if the model is the judge, its score of an answer stands for the outcome, as where none is known.

    For your own recipes: to search a tree of steps where a task verifies answers or a model scores steps. `assay
    search` looks for answers with it.

        ask=(FirstSteps(),), expand=(StepSearch(rollouts=8),)
        --mechanism.ask first-steps --mechanism.expand step-search --mechanism.expand.0.rollouts 8
    """

    continues = True

    explore: float = 2.0  # c of UCT
    rollouts: int = 16
    most: int = 16  # rollouts of a tree without an answer that is worth more than 0
    depth: Count = 16  # steps of an answer
    errors: int = 2  # 0: steps are not verified
    model: str = ""  # the process preference model, by its name in the recipe's `models`; "": outcomes alone guide
    judge: Literal["verifier", "model"] = "verifier"  # the judge of the worth of an answer
    does = step_search
    needs_verdict = True

    @property
    def outputs(self) -> dict[str, Output]:
        return {self.model: "value"} if self.model else {}

    def refusal(self, **_: Any) -> str | None:
        if self.judge == "model" and not self.model:
            return "step-search: the model is the judge, and model is ''. Name it, or let the verifier judge."
        if self.rollouts <= self.most:
            return None
        return f"step-search: rollouts must be at most most, and is {self.rollouts}, where most is {self.most}."
