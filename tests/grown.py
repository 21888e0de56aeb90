"""Trees of steps made by hand, for tests of what searches them and of what learns from a search."""

from __future__ import annotations

import dataclasses

from tiny import Letters, episode, segment

from assay.collect.nodes import Node, Tree
from assay.collect.walks import Seen, Walked, backed_up, step_search, walked
from assay.types import Episode, Request, Row, Verdict

OPEN = object()
CUT = object()
SEARCH = {"explore": 2.0, "rollouts": 16, "most": 16, "depth": 16, "errors": 2, "model": "", "judge": "verifier"}


class Grown:
    """A tree made by hand, of steps of two tokens: the second is that of the step, so that equal ones are alike."""

    def __init__(self, problem: str = "a", group: str = "g") -> None:
        self.made: dict[str, Episode] = {}
        self.problem, self.group = problem, group

    def expand(self, parent: str, **children: object) -> None:
        """One round: names of the children of a node, and what becomes of each: OPEN, CUT, or its reward. Of `b2` and
        `b` the tokens are alike.
        """
        above = self.made[parent].segments if parent else ()
        round = 1 + max((e.request.round for e in self.made.values()), default=-1)
        for name, fate in children.items():
            reward = fate if isinstance(fate, float) else None
            made = episode([1], group=self.group, prompt=self.problem, sample=len(self.made), reward=reward or 0.0)
            about = {"round": round, "parent": parent, "prefix": above, "pauses": True, "marks": (",",), "max_new": 40}
            request = dataclasses.replace(made.request, **about)
            own = segment([1, ord(name[0])], node=name)
            changes: dict[str, object] = {"finish": "pause", "verdict": None, "rewards": ()} if fate is OPEN else {}
            changes |= {"finish": "length", "verdict": Verdict.fail("truncated")} if fate is CUT else {}
            self.made[name] = dataclasses.replace(made, request=request, segments=(*above, own), **changes)

    @property
    def episodes(self) -> list[Episode]:
        return list(self.made.values())

    @property
    def rows(self) -> list[Row]:
        return [Row(e) for e in self.episodes]

    def outcomes(self) -> Tree:
        return backed_up(self.episodes)

    def walked(self, *, depth: int = 16, limit: int = 40, **seen: Seen) -> Walked:
        known = {self.made[name].request.id: about for name, about in seen.items()}
        return walked(self.episodes, known, limit=limit, depth=depth)

    def name(self, node: Node | None) -> str:
        return "" if node is None or node.episode is None else node.episode.segments[-1].node


def by_hand() -> Grown:
    """Steps a and b; after a the right d, the wrong e and the step f, from which g and h are right and i is wrong;
    after b the wrong j and k, and l, which was cut.
    """
    grown = Grown()
    grown.expand("", a=OPEN, b=OPEN, b2=OPEN)
    grown.expand("a", d=1.0, e=0.0, f=OPEN)
    grown.expand("f", g=1.0, h=1.0, i=0.0)
    grown.expand("b", j=0.0, k=0.0, l=CUT)
    return grown


def walk() -> Grown:
    """A walk over a and m, which came to two wrong answers; n and b were not visited."""
    grown = Grown()
    grown.expand("", a=OPEN, b=OPEN)
    grown.expand("a", d=0.0, m=OPEN, n=OPEN)
    grown.expand("m", p=0.0, q=0.0)
    return grown


def ask(grown: Grown, **changes: object) -> list[Request]:
    """What the search asks for next in this tree."""
    about = {"models": None, "codec": Letters(), "micro_tokens": 99, "max_new": 40, "noted": {}}
    return step_search(grown.episodes, **{**about, **SEARCH, **changes})  # type: ignore[arg-type]
