"""BFS-Prover-V2: which node is expanded, which proofs are held, which tactics train, and runs that learn to prove."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import END, TINY, episode, policy, recipe_of, register, require_resumable, run, segment

from assay.collect.nodes import grown
from assay.memory import Memory
from assay.methods.exploration.bfs_prover_v2.best_first import best_first, open_nodes, priority
from assay.methods.exploration.bfs_prover_v2.first_tactics import first_tactics
from assay.methods.exploration.bfs_prover_v2.proofs import (
    STORE,
    TacticBand,
    keep_proofs,
    surprisals,
    tactic_band,
    tactics_of,
)
from assay.recipe import Mechanism, with_mechanisms
from assay.types import Episode, Origin, Request, Row, Segment, Verdict
from assay.worlds import Act, Ask, Line, Play, Reply, World

OPEN, TAKEN, REFUSED = "open", "taken", "refused"


def tactic(name: str, *logp: float) -> Segment:
    """A tactic of so many tokens, of which the first tells it from others."""
    logs = np.array(logp, np.float32)
    return segment([ord(name[0]), *[1] * (len(logp) - 1)], old=logs, mu=logs, node=name)


def reply(*, failed: bool = False) -> Segment:
    return segment([2], origin=Origin.ENV, failed=failed)


class Searched:
    """A tree of tactics made by hand."""

    def __init__(self, *, max_new: int = 20, max_replies: int = 0) -> None:
        self.made: dict[str, Episode] = {}
        self.limits = {"max_new": max_new, "max_replies": max_replies}

    def expand(self, parent: str, **children: tuple[str, tuple[float, ...]]) -> Searched:
        """One round: what becomes of each child, and the log-probs of its tokens."""
        above = self.made[parent].segments if parent else ()
        round = 1 + max((e.request.round for e in self.made.values()), default=-1)
        for name, (fate, logp) in children.items():
            made = episode([1], group="g", prompt="a", sample=len(self.made), reward=float(fate == TAKEN))
            about: dict[str, Any] = {"round": round, "parent": parent, "prefix": above, "halts": True, **self.limits}
            request = dataclasses.replace(made.request, **about)
            own = (tactic(name, *logp),) if fate == TAKEN else (tactic(name, *logp), reply(failed=fate == REFUSED))
            waits: dict[str, Any] = {} if fate == TAKEN else {"finish": "pause", "verdict": None, "rewards": ()}
            self.made[name] = dataclasses.replace(made, request=request, segments=(*above, *own), **waits)
        return self

    @property
    def episodes(self) -> list[Episode]:
        return list(self.made.values())

    def next(self, *, alpha: float = 0.5, expansions: int = 9) -> list[Request]:
        return best_first(self.episodes, alpha=alpha, expansions=expansions)


def by_hand() -> Searched:
    """b was likelier than a, and c behind b; d behind a was refused."""
    first = Searched().expand("", a=(OPEN, (-2.0, -1.0)), b=(OPEN, (-1.0,)))
    return first.expand("b", c=(OPEN, (-1.5, -1.5)), e=(REFUSED, (-0.1,)))


# Which node is expanded


def test_the_priority_by_hand() -> None:
    """c: -1 - 3 over two tactics; with alpha 1/2 that is -4/sqrt 2 = -2.83, above a with -3; with 0 it is -4."""
    tree = grown(by_hand().episodes)
    nodes = {node.episode.segments[-2].node: node for node in tree.nodes if node.episode}
    worth = {alpha: {name: priority(nodes[name], alpha=alpha) for name in "ac"} for alpha in (0.0, 0.5, 1.0)}
    assert worth[0.5]["c"] == pytest.approx(-4 / math.sqrt(2)) and worth[0.5]["a"] == pytest.approx(-3)
    assert worth[0.0]["c"] == pytest.approx(-4) and worth[1.0]["c"] == pytest.approx(-2)
    assert [node.episode.segments[-2].node for node in open_nodes(tree) if node.episode] == ["a", "c"], "b has children"


@pytest.mark.parametrize(("alpha", "expanded"), [(0.0, "a"), (0.5, "c"), (1.0, "c")])
def test_the_best_open_node_is_expanded_and_one_that_was_refused_never(alpha: float, expanded: str) -> None:
    asked = by_hand().next(alpha=alpha)
    assert [(r.parent, r.round, r.sample) for r in asked] == [(expanded, 2, 4), (expanded, 2, 5)]
    assert all((r.halts and r.prefix == by_hand().made[expanded].segments[: len(r.prefix)]) or r.halts for r in asked)
    refused = Searched().expand("", a=(REFUSED, (-0.1,)))
    assert refused.next() == []


def test_a_search_ends_with_a_proof_or_with_its_budget() -> None:
    assert by_hand().next(expansions=2) == [] and len(by_hand().next(expansions=3)) == 2
    assert by_hand().expand("a", f=(TAKEN, (-9.0,))).next() == []


@pytest.mark.parametrize(
    ("limits", "left"),
    [({"max_new": 4}, (1, 0)), ({"max_new": 3}, None), ({"max_new": 4, "max_replies": 3}, (2, 2))],
)
def test_tactics_behind_a_reply_have_what_the_limits_leave(
    limits: dict[str, int], left: tuple[int, int] | None
) -> None:
    """A tactic of two tokens, and a reply of one, which counts unless replies have a limit of their own."""
    asked = Searched(**limits).expand("", a=(OPEN, (-1.0, -1.0))).next()
    assert [(r.max_new, r.max_replies) for r in asked] == ([] if left is None else [left])
    assert Searched(max_new=9, max_replies=1).expand("", a=(OPEN, (-1.0,))).next() == [], "no reply is left"


def test_first_tactics_halt_and_answers_that_do_not_are_no_tree() -> None:
    asked = [dataclasses.replace(episode([1], group=g).request, sample=i) for g in "gh" for i in range(4)]
    found = first_tactics(asked, Memory(0), width=3)
    assert [(r.group, r.sample, r.halts) for r in found] == [(g, i, True) for g in "gh" for i in range(3)]
    assert best_first([episode([1, END])], alpha=0.5, expansions=9) == []


@given(st.lists(st.tuples(st.integers(0, 9), st.lists(st.floats(-9, -0.1), min_size=1, max_size=3)), max_size=6))
def test_of_any_tree_an_open_node_with_the_highest_priority_is_expanded(rounds: list[tuple[int, list[float]]]) -> None:
    tree, names = Searched(max_new=999), iter(map(chr, range(65, 900)))
    tree.expand("", **{next(names): (OPEN, (-1.0,)), next(names): (REFUSED, (-0.5,))})
    for _, logps in rounds:
        (parent,) = {r.parent for r in tree.next(expansions=99)} or {""}
        if not parent:
            break
        tree.expand(parent, **{next(names): (OPEN if i else REFUSED, (logp,)) for i, logp in enumerate(logps)})
    asked = tree.next(expansions=99)
    left = open_nodes(grown(tree.episodes, alike=True))
    best = max((priority(node, alpha=0.5) for node in left), default=None)
    chosen = [node for node in left if node.episode and asked and node.episode.segments[-2].node == asked[0].parent]
    assert [priority(node, alpha=0.5) for node in chosen] == ([] if best is None else [best])


# Which proofs are held


def proof(problem: str, *tactics: tuple[float, ...], right: bool = True) -> Episode:
    made = episode([1], prompt=problem, reward=float(right))
    pieces: list[Segment] = []
    for place, logp in enumerate(tactics):
        pieces += [tactic("abcdef"[place], *logp), reply()]
    return dataclasses.replace(made, segments=tuple(pieces[:-1]))


def held(memory: Memory) -> dict[str, int]:
    return {e.request.problem.id: len(tactics_of(e.stream("origin"))) for e in memory.kept[STORE]}


def kept(memory: Memory, *proofs: Episode, anew: bool = False) -> Memory:
    return keep_proofs(memory, episodes=proofs, anew=anew, place=STORE)


def test_the_surprisal_of_a_tactic_is_the_mean_of_its_tokens() -> None:
    one = proof("a", (-1.0, -3.0), (-0.5,))
    assert [places.tolist() for places in tactics_of(one.stream("origin"))] == [[0, 1], [3]]
    assert surprisals(one) == pytest.approx([2.0, 0.5])
    assert tactics_of(np.array([Origin.ENV])) == []


def test_the_shortest_proof_of_a_theorem_is_held_and_anew_the_latest() -> None:
    memory = kept(Memory(0), proof("a", (-1.0,), (-1.0,)), proof("b", (-1.0,), right=False))
    problem = memory.kept[STORE][0].request.problem.id
    assert held(memory) == {problem: 2}
    longer = kept(memory, proof("a", (-1.0,), (-1.0,), (-1.0,)))
    assert longer == memory, "a longer one is passed over"
    shorter = kept(memory, proof("a", (-4.0,)))
    assert held(shorter) == {problem: 1} and shorter.store(STORE)[problem]["surprisals"] == [4.0]
    later = dataclasses.replace(shorter, stage=1)
    assert held(kept(later, proof("a", (-1.0,), (-1.0,)))) == {problem: 1}
    again = kept(later, proof("a", (-1.0,), (-2.0,)), anew=True)
    assert held(again) == {problem: 2} and again.store(STORE)[problem]["stage"] == 1
    assert held(kept(again, proof("a", (-1.0,)), anew=True)) == {problem: 1}, "within a stage the shortest"
    assert held(kept(later, proof("b", (-1.0,)), anew=True))[problem] == 1, "what is not proved any more stays"


# Which tactics train


def rows_of(memory: Memory) -> list[Row]:
    return [Row(e) for e in memory.kept[STORE]]


def test_the_band_by_hand() -> None:
    """Surprisals 0, 1, ..., 10 in two proofs: the 10th percentile is 1 and the 90th is 9."""
    first, second = [(-float(i),) for i in range(6)], [(-float(i),) for i in range(6, 11)]
    memory = kept(Memory(0), proof("a", *first), proof("b", *second))
    marked = tactic_band(rows_of(memory), memory, low=0.1, high=0.9, place=STORE)
    assert [row.keep[::2].tolist() for row in marked if row.keep is not None] == [
        [False, *[True] * 5],
        [*[True] * 4, False],
    ]
    assert not any(row.keep[1::2].any() for row in marked if row.keep is not None), "replies never train"
    fresh = Row(proof("a", (-9.0,)))
    assert tactic_band([fresh], memory, low=0.1, high=0.9, place=STORE) == [fresh]
    assert tactic_band([fresh], Memory(0), low=0.1, high=0.9, place=STORE) == [fresh]
    assert TacticBand(low=0.9, high=0.9).refusal() and TacticBand().refusal() is None


@given(st.lists(st.lists(st.floats(0.0, 9.0), min_size=1, max_size=5), min_size=1, max_size=5), st.floats(0.0, 0.4))
def test_the_share_of_tactics_that_train_is_that_of_the_band(proofs: list[list[float]], low: float) -> None:
    """The lowest and the highest k of n fall out, with at most k = ceil(low n) at each end; of equal ones all stay."""
    whole = [proof(f"p{i}", *((-value,) for value in values)) for i, values in enumerate(proofs)]
    memory = kept(Memory(0), *whole)
    marked = tactic_band(rows_of(memory), memory, low=low, high=1 - low, place=STORE)
    every = sorted(float(np.float32(v)) for values in proofs for v in values)
    trained = sum(int(row.keep.sum()) for row in marked if row.keep is not None)
    outside = len(every) - trained
    assert outside <= 2 * math.ceil(low * len(every))
    assert trained == len(every) if len(set(every)) == 1 or not low else trained >= 1


# Runs


@dataclasses.dataclass
class Proving:
    """A prover: a tactic is known by its first letter. It takes that of the problem, then b."""

    wanted: list[str]
    done: list[str] = dataclasses.field(default_factory=list)

    def open(self) -> Reply:
        return Reply(Ask())

    def step(self, act: Act) -> Reply:
        if act.text[:1] != self.wanted[len(self.done)]:
            return Reply(Ask(say=(Line("d"),)), failed=True)
        self.done.append(act.text[:1])
        if len(self.done) == len(self.wanted):
            return Reply(end="ended")
        return Reply(Ask(say=(Line("c"),)))

    def judge(self) -> Mapping[str, Verdict]:
        whole = len(self.done) == len(self.wanted)
        return {"policy": Verdict.ok("".join(self.done)) if whole else Verdict.fail("wrong")}

    def save(self) -> None:
        return None

    def close(self) -> None:
        """It holds nothing."""


@pytest.fixture
def prover(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(spec: Any, key: object) -> Play:
        return Proving([spec["letter"], "b"])

    register(monkeypatch, dataclasses.replace(TINY, world=World(start)))


def small(**scale: Any) -> Any:
    """Six expansions a theorem, in answers of sixteen tokens."""
    values = {"num_prompts": 2, "group_size": 4, "num_steps": 14, "warmup_steps": 0, "learning_rate": 0.02, **scale}

    def short(mechanism: Mechanism) -> Mechanism:
        expand = tuple(dataclasses.replace(part, expansions=6) for part in mechanism.expand)  # type: ignore[call-arg]
        return dataclasses.replace(mechanism, expand=expand)

    return with_mechanisms(recipe_of("bfs-prover-v2", max_new=16, **values), short)


def test_a_search_halts_behind_replies_and_proves_tactic_by_tactic(prover: None) -> None:
    notes, memory = run(small(num_steps=1, num_prompts=8), policy("fp32", context=64))
    trees = notes.episodes[0]
    assert all(e.request.halts for e in trees) and {e.finish for e in trees} <= {"pause", "stop", "length"}
    for e in trees:
        own = e.segments[len(e.request.prefix) :]
        assert sum(s.is_reply for s in own) <= 1, "a request is for one tactic"
        assert all(s.is_reply for s in e.request.prefix[-1:]) and not any(s.failed for s in e.request.prefix)
        assert (e.finish == "pause") == own[-1].is_reply
    right = [e for e in trees if e.right]
    assert right and all(len(tactics_of(e.stream("origin"))) == 2 for e in right)
    assert {e.request.problem.id for e in memory.kept[STORE]} == {e.request.problem.id for e in right}


@pytest.mark.slow
def test_a_run_that_is_stopped_goes_on_to_the_same_bits(prover: None) -> None:
    require_resumable(small(num_steps=14), lambda: policy("fp32", context=64), after=3)


@pytest.mark.learning
def test_it_learns_to_prove(prover: None) -> None:
    """Searches of later rounds need fewer tactics for a proof than those of the first weights."""
    notes, _ = run(small(num_steps=56, num_prompts=4, group_size=8), policy("fp32", context=64))
    searched = [step for step in notes.episodes if any(e.request.halts and e.provenance == "fresh" for e in step)]
    first, last = searched[0], searched[-1]
    assert np.mean([e.right for e in last]) > np.mean([e.right for e in first]) + 0.1
