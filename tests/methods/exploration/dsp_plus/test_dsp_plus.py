"""DSP+: what is masked and where holes come, which tactics close them, and requests for proofs that go on."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import pytest
import roled
from hypothesis import given
from hypothesis import strategies as st
from roled import CODEC
from tiny import END, episode

from assay.ask import Codec
from assay.methods.exploration.dsp_plus import close
from assay.methods.exploration.dsp_plus.close import (
    CLOSED,
    CLOSERS,
    OPEN,
    CloseSketches,
    close_sketches,
    in_coq,
    repaired,
    told_by,
    trial_of,
)
from assay.methods.exploration.dsp_plus.draft import ROLE, drafts, sketch_drafts
from assay.methods.exploration.dsp_plus.sketch import (
    HOLE,
    MOST_TRIALS,
    Told,
    before_hole,
    closed,
    in_blocks,
    is_hole,
    masked,
    sketched,
    without,
)
from assay.rng import Key
from assay.tasks import task
from assay.types import Episode, Origin, Request
from assay.verifiers.proofs.coq import Unreadable


class Goals:
    """A prover whose goals are numbers: `split.` makes 5 of 10 twice, `close n.` proves n, `admit.` proves any. Braces
    focus the first goal. `never` is refused always.
    """

    def __init__(self, goal: int = 20) -> None:
        self.goal = goal
        self.asked: list[list[str]] = []

    def __call__(self, row: Sequence[str]) -> Told:
        self.asked.append(list(row))
        outer: list[list[int]] = []
        goals, holes = [self.goal], False
        for place, sentence in enumerate(row):
            if sentence == "{" and goals:
                outer.append(goals[1:])
                goals = goals[:1]
            elif sentence == "}" and outer and not goals:
                goals = outer.pop()
            elif sentence == "split." and goals and goals[0] % 2 == 0:
                goals = [goals[0] // 2] * 2 + goals[1:]
            elif sentence == HOLE and goals:
                goals, holes = goals[1:], True
            elif goals and sentence == f"close {goals[0]}.":
                goals = goals[1:]
            else:
                return Told("refused", place)
        if outer or goals:
            return Told("open")
        return Told("holes" if holes else "proved")


def row(text: str) -> list[str]:
    """Sentences between commas: `split, {, close 10, }`."""
    return [piece if piece in "{}-+*" else f"{piece}." for piece in text.split(", ")]


# Sketches


def test_a_sketch_is_read_with_its_holes_and_bullets_become_blocks() -> None:
    read = sketched("intros P H. split.\n- prove_with H, P.\n- admit. ")
    assert read == ["intros P H.", "split.", "{", "prove_with H P.", "}", "{", HOLE, "}"]
    assert [is_hole(one) for one in read] == [False, False, False, True, False, False, True, False]
    assert before_hole(read) == ["intros P H.", "split.", "{"] and before_hole(["auto."]) == ["auto."]


@pytest.mark.parametrize(
    "text",
    ["", "Axiom a.", "auto", "admit", "admitted.", "prove_with.", "exact (admit).", "prove_with H; admit. Qed. Axiom"],
)
def test_but_for_its_holes_a_sketch_may_say_what_a_proof_may(text: str) -> None:
    with pytest.raises(Unreadable):
        sketched(text)


@pytest.mark.parametrize(
    ("written", "blocks"),
    [
        ("a, -, b, -, c", "a, {, b, }, {, c, }"),
        ("a, -, b, +, c, +, d, -, e", "a, {, b, {, c, }, {, d, }, }, {, e, }"),
        ("a, {, -, b, }, c", "a, {, {, b, }, }, c"),
        ("a, {, b", "a, {, b, }"),
        ("a, }, b", "a, b"),
        ("-, a, {, -, b, -, c, }, -, d", "{, a, {, {, b, }, {, c, }, }, }, {, d, }"),
    ],
)
def test_blocks_by_hand(written: str, blocks: str) -> None:
    assert in_blocks(row(written)) == row(blocks)


@given(st.lists(st.sampled_from(["{", "}", "-", "+", "**", "a.", "b."]), max_size=12))
def test_blocks_are_balanced_and_no_tactic_is_lost(written: list[str]) -> None:
    made = in_blocks(written)
    depths = [made[:end].count("{") - made[:end].count("}") for end in range(len(made) + 1)]
    assert min(depths) == 0 == depths[-1]
    assert [one for one in made if one not in "{}"] == [one for one in written if one in ("a.", "b.")]
    assert in_blocks(made) == made


# Masking


@pytest.mark.parametrize(
    ("sketch", "place", "left"),
    [
        ("a, b, c", 1, "a, c"),  # outside of blocks it goes
        ("a, b, {, c, }, {, d, }, e", 1, "a, e"),  # with the blocks behind it
        ("a, {, b, c, {, d, }, }, e", 2, "a, {, admit, }, e"),  # within one the rest goes, and a hole comes
        ("a, {, b, c, {, d, }, e, }, f", 5, "a, {, b, c, {, admit, }, e, }, f"),
        ("a, {, b, }, c", 3, "a, {, b, admit, }, c"),  # it ends too early
        ("a, {, b, }, c", 1, "a, c"),  # there is no goal for it
        ("a, admit, {, b, }", 1, "a, {, b, }"),  # there is no goal for the hole
        ("{, a, admit, b, }", 2, "{, a, }"),
    ],
)
def test_what_is_left_without_a_sentence_by_hand(sketch: str, place: int, left: str) -> None:
    assert without(row(sketch), place) == row(left)


@pytest.mark.parametrize(
    ("written", "left"),
    [
        ("split, close 10, close 10", "split, close 10, close 10"),
        ("split, close 9, close 10", "split, close 10, admit"),
        ("split, {, close 9, }, {, close 10, }", "split, {, admit, }, {, close 10, }"),
        ("split, {, split, close 5, }, close 10", "split, {, split, close 5, admit, }, close 10"),
        ("never, {, close 3, }", "admit"),
        ("split, close 10", "split, close 10, admit"),
        ("close 20, close 1, {, close 2, }", "close 20"),
    ],
)
def test_masking_by_hand(written: str, left: str) -> None:
    assert masked(row(written), Goals()) == row(left)


def test_what_nobody_can_judge_is_no_sketch() -> None:
    assert masked(row("a"), lambda _: Told("nothing")) is None
    asked: list[int] = []
    assert masked(row("a"), lambda one: Told("open") if not asked.append(len(one)) else Told("nothing")) is None
    assert len(asked) == MOST_TRIALS


SENTENCES = st.sampled_from(["{", "}", "-", "split.", "close 20.", "close 10.", "close 5.", "never.", HOLE])


@given(st.lists(SENTENCES, max_size=14), st.sampled_from([20, 10, 7]))
def test_a_masked_sketch_stands_whatever_was_written(written: list[str], goal: int) -> None:
    """The prover takes it but for its holes, its own tactics are some of those written, and masking it changes
    nothing.
    """
    prover = Goals(goal)
    made = masked(in_blocks(written), prover)
    assert made is not None and prover(made).status in ("proved", "holes")
    rest = iter(written)
    assert all(one in rest for one in made if one not in ("{", "}", HOLE))
    assert masked(made, prover) == made


# Closing


def test_holes_are_closed_by_the_first_tactic_that_closes_them() -> None:
    prover = Goals()
    assert closed(row("split, admit, admit"), prover, row("close 20, close 10")) == row("split, close 10, close 10")
    assert closed(row("split, admit, close 10"), prover, row("close 9")) == row("split, admit, close 10")
    assert closed(row("split, admit, admit"), prover, row("split")) == row("split, admit, admit"), "goals would be left"


def test_a_hole_with_names_is_first_tried_with_these_alone() -> None:
    tried: list[list[str]] = []

    def trial(one: Sequence[str]) -> Told:
        tried.append(list(one))
        return Told("proved") if one == ["b."] else Told("refused", 0)

    assert closed(["prove_with H G."], trial, ["a.", "b."]) == ["b."]
    assert tried == [["clear - H G.", "a."], ["clear - H G.", "b."], ["a."], ["b."]]


@given(st.lists(SENTENCES, max_size=12), st.lists(st.sampled_from(["close 10.", "close 5.", "split."]), max_size=3))
def test_closing_opens_nothing(written: list[str], closers: list[str]) -> None:
    sketch = masked(in_blocks(written), Goals())
    assert sketch is not None
    made = closed(sketch, Goals(), closers)
    assert Goals()(made).status in ("proved", "holes") and sum(map(is_hole, made)) <= sum(map(is_hole, sketch))


def test_answers_of_a_session_by_hand() -> None:
    said = "Error: (in proof t): Attempt to save a proof with given up\ngoals. If this is"
    assert [told_by("proved", 3, ""), told_by("open", 3, said), told_by("open", 3, "an incomplete proof")] == [
        Told("proved"),
        Told("holes"),
        Told("open"),
    ]
    assert told_by("tactic", 1, "No such goal.") == Told("refused", 0) and told_by("time", -1, "") == Told("nothing")
    with pytest.raises(RuntimeError, match="unknown"):
        told_by("statement", 0, "unknown")


# Requests

THEOREM = task("coq").pose({"statement": "forall P:Prop, P->P", "witness": ["intros P a.", "exact a."]}, level=1)


def failed(text: str, *, right: bool = False, **about: Any) -> Episode:
    made = episode([1, END], group="g", prompt="a", reward=float(right))
    request = dataclasses.replace(made.request, problem=THEOREM, max_new=100, **about)
    return dataclasses.replace(made, request=request, text=text)


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> None:
    """Coq, played: `intros.`, then `exact a.` or `now lia.`; else it refuses."""

    def trial(row: Sequence[str]) -> Told:
        for place, sentence in enumerate(row):
            if sentence not in (("intros P a.",), ("exact a.", "now lia.", HOLE))[min(place, 1)] or place > 1:
                if place == 0 and sentence == HOLE:
                    continue
                return Told("refused", place)
        if HOLE in row:
            return Told("holes")
        return Told("proved" if len(row) == 2 else "open")

    monkeypatch.setattr(close, "trial_of", lambda statement, preamble: trial)


def texts(codec: Codec, requests: Sequence[Any]) -> list[str]:
    return [codec.decode([i for s in r.prefix for i in s.ids.tolist() if i not in codec.end_ids]) for r in requests]


def test_a_closed_proof_answers_and_an_open_one_is_gone_on_with(session: None) -> None:
    answers = [failed("intros P a. exact P.", sample=0), failed("auto. auto.", sample=1), failed("Axiom x.", sample=2)]
    whole, empty = close_sketches(answers, codec=CODEC, closers=CLOSERS, rounds=2)
    assert (whole.tag, whole.max_new, whole.sample, whole.parent) == (CLOSED, 0, 3, answers[0].request.id)
    assert texts(CODEC, [whole]) == ["intros P a. now lia."]
    assert (empty.tag, empty.prefix, empty.max_new, empty.round) == (OPEN, (), 100, 1), "all of it was masked"
    (going,) = close_sketches(answers[:1], codec=CODEC, closers=(), rounds=2)
    assert (going.tag, texts(CODEC, [going])) == (OPEN, ["intros P a."])
    assert going.max_new + going.given == 100 and all((s.origin == Origin.INJECTED).all() for s in going.prefix)


def test_each_answer_is_taken_once_and_a_proof_ends_the_work(session: None) -> None:
    first = failed("intros P a. exact P.")
    (asked,) = close_sketches([first], codec=CODEC, closers=(), rounds=1)
    behind = dataclasses.replace(failed("intros P a. auto."), request=asked)
    (again,) = close_sketches([first, behind], codec=CODEC, closers=(), rounds=1)
    assert (again.parent, again.round) == (asked.id, 2)
    last = dataclasses.replace(failed("intros P a. auto."), request=again)
    assert close_sketches([first, behind, last], codec=CODEC, closers=(), rounds=1) == []
    assert close_sketches([first, failed("x", right=True, sample=1)], codec=CODEC, closers=(), rounds=1) == []
    other = episode([1, END], reward=0.0)
    assert not in_coq(other.request.problem) and close_sketches([other], codec=CODEC, closers=(), rounds=1) == []
    assert not in_coq(task("coq-steps").pose(THEOREM.spec, level=1)), "there a session replies"


def test_a_draft_is_asked_for_and_shown_without_its_thought() -> None:
    request = dataclasses.replace(failed("").request, max_new=100)
    (asked,) = drafts([request], codec=CODEC, longest=40)
    assert (asked.role, asked.max_new, asked.group) == (
        ROLE,
        40,
        "g/draft",
    ) and asked.prompt.told == f"{THEOREM.prompt} /"
    written = dataclasses.replace(failed("hm</think> a by H "), request=asked)

    class Sampling:
        def of(self, problem: object) -> dict[str, Any]:
            return {"max_new": 100}

    (shown,) = sketch_drafts([written], codec=CODEC, sampling=Sampling())  # type: ignore[arg-type]
    assert shown.prompt.told == f"{THEOREM.prompt} /a by H/" and (shown.role, shown.group) == ("policy", "g")
    again = dataclasses.replace(written, request=shown)
    assert sketch_drafts([written, again], codec=CODEC, sampling=Sampling()) == []  # type: ignore[arg-type]


def test_closers_are_tactics_that_a_proof_may_have() -> None:
    assert CloseSketches().refusal() is None
    for closer in ("admit.", 'Load "a".', "auto. auto.", "auto"):
        assert CloseSketches(closers=(closer,)).refusal(), closer


# With Coq

AND = "forall P Q:Prop, P/\\Q->Q/\\P"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statement", "preamble", "text", "made"),
    [
        (AND, "", "intros P Q H. split. - exact H. - prove_with H.", "intros P Q H. split. { now auto. }"),
        (AND, "", "intros P Q H. destruct H as [a b]. split. exact a. exact b.", "intros P Q H. destruct H as [a b]."),
        ("forall P Q:Prop, P->Q", "", "intros P Q H. exact H.", None),
        ("forall n m:nat, n+4<=m->2*n+2<=2*m", "library", "intros n m H. assert (G: 2*n+8<=2*m). { prove_with H. } "
         "prove_with G.", "intros n m H. assert (G: 2*n+8<=2*m). { clear - H. now lia. } clear - G. now lia."),
    ],
)  # fmt: skip
def test_sketches_are_masked_and_closed_by_coq(statement: str, preamble: str, text: str, made: str | None) -> None:
    """What is closed is a proof to the verifier, too; the last theorem but one is none."""
    spec = {"statement": statement, "witness": ["auto."], **({"preamble": preamble} if preamble else {})}
    problem = task("coq-library" if preamble else "coq").pose(spec, level=1)
    found = repaired(problem, text, CLOSERS, trial_of(statement, preamble))
    assert found is not None and any(map(is_hole, found)) == (made is None)
    if made is not None:
        assert " ".join(found).startswith(made)
        assert task(problem.task).verify(problem, " ".join(found)).status == "ok"
        assert task(problem.task).verify(problem, text).status == "fail"


@pytest.mark.deep
def test_masking_proves_what_spoilt_proofs_do_not() -> None:
    """Worked proofs of the task lose one sentence each: none is a proof, and masking and closing prove most of them."""
    proved = 0
    for seed in range(20):
        problem = task("coq").problem(Key("spoilt", seed), level=2)
        rows = list(problem.spec["witness"])
        spoilt = " ".join([*rows[:-2], "exact nothing.", *rows[-1:]])
        assert task("coq").verify(problem, spoilt).status == "fail"
        trial = trial_of(problem.spec["statement"], "")
        found = repaired(problem, spoilt, CLOSERS, trial)
        assert found is not None
        if not any(map(is_hole, found)):
            assert task("coq").verify(problem, " ".join(found)).status == "ok"
            proved += 1
    assert proved >= 10


@pytest.mark.slow
def test_a_run_closes_sketches_and_goes_on_behind_open_holes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a proof by induction the policy first writes the number and nothing else, which automation does not complete;
    asked to go on behind the first hole, it writes the rest. Another theorem it sketches with holes that close.
    """

    def written(request: Request) -> str:
        rows = list(request.problem.spec["witness"])
        if request.problem.level == 5:
            return f"{rows[0]} admit."
        return f" {' '.join(rows[2:])}" if request.prefix else f"{rows[0]} {rows[1]} exact nothing."

    for level in (5, 6):
        said = {"dsp-plus-undrafted": roled.Roles(written, tasks={"coq": level}, steps=(), shares=(1,))}
        monkeypatch.setattr(roled, "table", lambda said=said: said)
        watch = roled.watched("dsp-plus-undrafted", monkeypatch)
        by_tag = {e.request.tag: e for e in watch.episodes[0]}
        assert not by_tag[""].right and not watch.batches[0]
        assert {*by_tag} == {"", CLOSED if level == 5 else OPEN}
        assert all(e.right == bool(e.request.tag) for e in watch.episodes[0])
