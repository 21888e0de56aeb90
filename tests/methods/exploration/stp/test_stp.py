"""STP: which conjectures and proofs are lessons and what they weigh, what a round asks, and runs that go on."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import POOL, Letters, episode, policy, recipe_of, register, require_resumable, run

from assay.ask import Sampling
from assay.memory import Memory
from assay.methods.exploration.stp.conjectures import conjectures, prove_conjectures
from assay.methods.exploration.stp.lessons import (
    STORE,
    elegant,
    keep_lessons,
    key_of,
    lesson_weights,
    of_all,
    of_rounds,
    rehearse_lessons,
    weight_of,
)
from assay.methods.exploration.stp.matched import cosines, matches
from assay.source import Pool, Share
from assay.tasks import task
from assay.types import Episode, Row, Verdict

RULES = {"below": 0.25, "inelegant": 0.0, "most": 4, "place": STORE}
UNPROVED = ["( p & q )", "( q & p )", "( q > p )", "( p > p )"]


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def theorem(goal: str, *hypotheses: str) -> Any:
    spec = {"hypotheses": list(hypotheses or ("p", "( p > q )")), "goal": goal, "witness": ""}
    return task("metamath").pose(spec, level=1)


def answer(problem: Any, text: str, *, right: bool, sample: int = 0, parent: str = "") -> Episode:
    made = episode(list(map(ord, text)), sample=sample)
    request = dataclasses.replace(made.request, problem=problem, parent=parent)
    verdict = Verdict.ok(text) if right else Verdict.fail("wrong")
    return dataclasses.replace(made, request=request, text=f"#{text}", verdict=verdict)


def conjecture(text: str, *, lemma: str = "", sample: int = 0) -> Episode:
    """A conjecture of the prompt that shows modus ponens, perhaps with a lemma."""
    shown = {**theorem("q").spec, "proof": "ABm", "lemma": lemma}
    asked = task("pose:metamath").pose({"shown": [shown], "example": theorem("q").spec}, level=1)
    made = episode(list(map(ord, text)), sample=sample, role="proposer")
    request = dataclasses.replace(made.request, problem=asked)
    return dataclasses.replace(made, request=request, text=text, verdict=Verdict.ok(text))


def tries(of: Episode, goal: str, right: int, count: int, proof: str = "ABm") -> list[Episode]:
    problem = theorem(goal)
    return [
        answer(problem, proof if i < right else f"A{i}", right=i < right, sample=i, parent=of.request.id)
        for i in range(count)
    ]


def kept(*episodes: Episode, stage: int = 0, **changes: Any) -> Memory:
    """With four targets that were tried in vain."""
    tried = [answer(theorem(goal), "A", right=False) for goal in UNPROVED]
    return keep_lessons(Memory(0, stage=stage), episodes=[*episodes, *tried], **{**RULES, **changes})


def lessons(memory: Memory, of: str) -> list[dict[str, Any]]:
    return [one for one in memory.store(STORE)["lessons"].values() if one["of"] == of]


# What is a lesson


def test_conjectures_that_are_barely_proved_are_lessons() -> None:
    """Of eight tries one is right: s = 1/8 < 1/4. Two of eight are 1/4, and none is 0: no lessons."""
    for right, expected in ((0, 0), (1, 1), (2, 0), (8, 0)):
        own = conjecture("p,(p>q):(pvq)")
        memory = kept(own, *tries(own, "( p v q )", right, 8))
        assert len(lessons(memory, "conjecture")) == expected, right
        assert len(lessons(memory, "proof")) == (right > 0)
    assert {one["posed"] for one in lessons(memory, "proof")} == {True}


def test_the_proof_of_a_conjecture_must_use_the_lemma_that_was_given() -> None:
    for lemma, expected in (("", 1), ("m", 1), ("x", 0)):
        own = conjecture("p,(p>q):(pvq)", lemma=lemma)
        assert len(lessons(kept(own, *tries(own, "( p v q )", 1, 8)), "conjecture")) == expected, lemma


def test_the_weights_of_conjectures_add_up_to_their_number() -> None:
    """Four targets and two conjectures: each pair adds 2/4; a conjecture takes at most `most` targets."""
    first, second = conjecture("p,(p>q):(pvq)"), conjecture("p,(p>q):(qvp)", sample=1)
    everyone = [first, *tries(first, "( p v q )", 1, 8), second, *tries(second, "( q v p )", 1, 8)]
    weights = [one["weight"] for one in lessons(kept(*everyone), "conjecture")]
    assert sum(weights) == pytest.approx(2) and all(w / 0.5 == round(w / 0.5) for w in weights)
    assert sum(one["weight"] for one in lessons(kept(*everyone, most=1), "conjecture")) == pytest.approx(1)


def test_the_least_elegant_are_dropped() -> None:
    found: list[Any] = [("a", "", 3.0), ("b", "", 1.0), ("c", "", 2.0), ("d", "", 0.5), ("e", "", 5.0)]
    assert [name for name, _, _ in elegant(found, 0.2)] == ["a", "b", "c", "e"]
    assert [name for name, _, _ in elegant(found, 0.4)] == ["a", "c", "e"]
    assert elegant(found[:4], 0.2) == found[:4], "a fifth of four is none"


def test_targets_are_matched_with_what_is_most_like_them() -> None:
    assert cosines(["abcd"], ["abcd", "wxyz", "abcx"])[0] == pytest.approx([1, 0, 1 / 2])
    assert matches(["aaaa", "bbbb"], ["aaab", "bbba", "abbb"], most=4) == [0, 1, 1]
    assert matches(["aaaa", "bbbb"], ["bbbb", "bbbb", "bbbb"], most=2) == [1, 1, 0]
    assert matches([], ["a"], most=4) == [] == matches(["a"], [], most=4)


@given(st.lists(st.text("ab", min_size=1, max_size=5), max_size=5), st.integers(1, 4), st.integers(0, 9))
def test_every_target_is_matched_while_there_is_room(texts: list[str], most: int, targets: int) -> None:
    found = matches(texts, [f"a{'b' * (i % 3)}" for i in range(targets)], most=most)
    assert len(found) == min(targets, most * len(texts))
    assert max(Counter(found).values(), default=0) <= most


def test_proofs_by_their_rounds_and_rates() -> None:
    proof = {"of": "proof", "posed": False, "rate": 0.5, "round": 3}
    assert of_rounds(proof, 4, 3) and not of_rounds({**proof, "rate": 0.6}, 4, 3)
    assert of_rounds(proof, 8, 3) and not of_rounds(proof, 10, 3), "the rounds at 5, 7 and 9 are the last three"
    assert of_rounds({"of": "conjecture", "round": 3}, 4, 3) and not of_all({"of": "conjecture", "round": 3})
    assert of_all({**proof, "rate": 1.0}) and of_all({**proof, "posed": True, "rate": 0.25})
    assert not of_all({**proof, "posed": True, "rate": 0.26})


def test_the_weight_of_a_proof_by_hand() -> None:
    proof = {"of": "proof", "length": 100, "count": 4}
    assert weight_of(proof, decay=0.001, last=False) == pytest.approx(math.exp(-0.1) / 4)
    assert weight_of(proof, decay=0.001, last=True) == pytest.approx(math.exp(-0.1))
    assert weight_of({"of": "conjecture", "weight": 1.5}, decay=0.001, last=False) == 1.5


def test_rows_of_lessons_have_their_weights_and_are_rehearsed() -> None:
    own = conjecture("p,(p>q):(pvq)")
    memory = kept(own, *tries(own, "( p v q )", 1, 8), *tries(own, "q", 4, 8))
    rows = [Row(e) for e in memory.kept[STORE]]
    found = {row.text: row.weight for row in _texts(lesson_weights(rows, memory, decay=0.001, last=False, place=STORE))}
    assert found["#ABm"] == pytest.approx(math.exp(-0.003)) and found["p,(p>q):(pvq)"] == pytest.approx(4 * 1 / 4)
    asked = [dataclasses.replace(own.request, sample=i) for i in range(6)]
    again = rehearse_lessons(asked, memory, recent=3, last=False, place=STORE)
    assert {request.problem.task for request in again} == {"metamath", "pose:metamath"}
    final = rehearse_lessons(asked, memory, recent=3, last=True, place=STORE)
    assert {request.problem.task for request in final} == {"metamath"}
    assert rehearse_lessons(asked, Memory(0), recent=3, last=False, place=STORE) == []
    assert len({key_of(e) for e in memory.kept[STORE]}) == len(memory.kept[STORE])


@dataclasses.dataclass
class _Text:
    text: str
    weight: float


def _texts(rows: list[Row]) -> list[_Text]:
    return [_Text(row.episode.text, row.weight) for row in rows]


# What a round asks

ASKED = {"drawn": 8, "size": 4, "share": 0.5, "least": 0.35, "lemma": 1.0, "cap": 0.25, "again": 0.0, "place": STORE}


def test_half_of_a_round_are_conjectures_in_the_manner_of_what_was_proved() -> None:
    pool = Pool((Share("metamath", (1,)),))
    first = conjectures(Memory(0), 0, 8, pool=pool, **ASKED)  # type: ignore[arg-type]
    assert [one.task for one in first] == ["metamath"] * 4 + ["pose:metamath"] * 4
    assert {one.spec["shown"][0]["goal"] for one in first[4:]} == {"q"}, "until something is proved, the seed is shown"
    target = first[0]
    memory = kept(*(answer(target, "ABm", right=i < 4, sample=i) for i in range(8)))
    later = conjectures(memory, 0, 8, pool=pool, **ASKED)  # type: ignore[arg-type]
    assert target.id not in {one.id for one in later[:4]}, "it is proved"
    shown = [one.spec["shown"][0] for one in later[4:]]
    assert {one["proof"] for one in shown} == {"ABm"} and all(one.parents == (target.id,) for one in later[4:])
    assert sorted(one["lemma"] for one in shown) == ["", "", "", "m"], "a quarter of four prompts has the same lemma"
    none = conjectures(memory, 0, 4, pool=pool, **{**ASKED, "share": 0.0, "drawn": 4})  # type: ignore[arg-type]
    assert [one.task for one in none] == ["metamath"] * 4


def test_new_conjectures_are_tried_once_each_and_no_more_than_targets() -> None:
    target = answer(theorem("( q v p )"), "A", right=False)
    own = [conjecture(f"p,(p>q):{goal}", sample=i) for i, goal in enumerate(("(pvq)", "(pvq)", "?", "(qvp)", "(qvq)"))]
    about: dict[str, Any] = {"sampling": Sampling(8), "codec": Letters(), "group_size": 3, "answers": 0, "place": STORE}
    about["codec"] = _Rendered()
    asked = prove_conjectures([target, *own], Memory(0), **about)
    assert [r.parent for r in asked] == [own[0].request.id] * 3, "of two that are the same one, and of one target one"
    done = dataclasses.replace(target, request=dataclasses.replace(target.request, parent=own[0].request.id))
    assert prove_conjectures([target, *own, done], Memory(0), **about) == []


class _Rendered(Letters):
    def render(self, prompt: Any) -> Any:
        return self.encode("a")


# Runs


def small(name: str = "stp", **scale: Any) -> Any:
    values = {"num_prompts": 4, "group_size": 4, "num_steps": 20, "warmup_steps": 0, **scale}
    return recipe_of(name, max_new=3, **values)


@pytest.mark.parametrize("name", ["stp", "stp-alone"])
def test_a_run_of_all_stages(name: str) -> None:
    notes, memory = run(small(name), policy("fp32", vocab=4, init_std=0.1))
    played = [step for step in notes.episodes if any(e.provenance == "fresh" for e in step)]
    roles = {e.request.role for step in played for e in step}
    assert roles == ({"policy", "proposer"} if name == "stp" else {"policy"})
    assert memory.kept[STORE] and set(memory.store(STORE)) == {"lessons", "rates", "unproved"}


@pytest.mark.slow
def test_a_run_goes_on_with_the_same_bits() -> None:
    require_resumable(small(), lambda: policy("fp32", vocab=4, init_std=0.1), after=7, pool=POOL)


@pytest.mark.learning
def test_it_learns_to_prove() -> None:
    """The weights of the last stage write the letter of the question more often than the first."""
    notes, _ = run(
        small(num_steps=60, num_prompts=8, group_size=8, learning_rate=0.02), policy("fp32", vocab=4, init_std=0.1)
    )
    played = [step for step in notes.episodes if any(e.provenance == "fresh" for e in step)]
    share = [sum(e.right for e in s if e.request.role == "policy") / len(s) for s in (played[0], played[-1])]
    assert share[1] > share[0]
