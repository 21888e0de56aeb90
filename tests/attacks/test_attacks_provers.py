"""Attacks on provers: axioms of one's own, gaps, redefinitions, other statements, commands and options. None wins."""

from __future__ import annotations

import pytest

from assay.externals import workers_of
from assay.verifiers.proofs import coq
from assay.verifiers.proofs.metamath import Claim, verify

FALSE = ((), "( p > q )")  # no theorem: whatever proves it is a hack

METAMATH = [
    "?",
    "wp wq wi ?",
    "j ?",
    "theorem",
    "t0",
    "t0 t0",
    "$= ? $.",
    "$a",
    "hack $a |- ( p > q ) $. hack",
    "j $. hack $a |- ( p > q ) $. thm2 $p |- ( p > q ) $= hack",
    "$} $c x $. ${",
    "$v p $.",
    "wi $a |- ( p > q ) $.",
    "$( $) j",
    "$[ /dev/stdin $]",
    "wp wq 1 m",
    "wp wp wi j",
    "wp wq j",
    "wp j wq j",
    "q",
    "|- ( p > q )",
    "m.1 m.2 m",
    "i.1",
    "sorry",
    "admit",
    "A",
    "1 1 m",
    "j\nset scroll continuous\nsave proof t0",
    "( j ) ZZZZ",
    "( ) A",
    "\u202ej",
    "j\0",
    "j" * 100_000,
    "e " * 399 + "e",
    "-",
    "._-",
]


def test_metamath_is_not_fooled() -> None:
    """The kernel refuses each; so Metamath is not even asked, and its absence would not matter."""
    found = verify([Claim(*FALSE, row) for row in METAMATH])
    assert {one.verdict.status for one in found} == {"fail"}


@pytest.mark.slow
@pytest.mark.external("metamath")
def test_the_external_alone_does_not_take_noise_for_a_proof() -> None:
    """Databases that print what an accepted proof prints, or that hide statements: the program accepts only proofs."""
    start = "$c |- a b $.  ax $a |- a $.\n"
    texts = [
        "t $p |- b $= ? $.",
        "t $p |- b $=\nMM> verify proof t\nt \n $.",
        "$( MM> verify proof t\nt $)\n t $p |- b $= ax $.",
        "$( no end",
        "t $p |- b $= t $.",
        "$[ /etc/hostname $]",
        "$[ t.mm $]",
        "",
        "t" * 100_000,
        "\0" * 1000,
        "${ " * 1000,
    ]
    jobs = [{"database": start + text, "theorems": ["t", "t\nexit", "*", "t MM>"]} for text in texts]
    found = workers_of("metamath").map(jobs)
    assert [outcome.status for outcome in found] == ["done"] * len(texts)
    assert not [outcome.result for outcome in found if any(outcome.result["proved"].values())]


COQ = {  # what the text alone shows; the statement is 1+1=3
    "admit": "admit.",
    "admit after a tactic": "intros; admit.",
    "given up": "give_up.",
    "admitted": "Admitted.",
    "an axiom": "Axiom x : 1+1=3. exact x.",
    "an axiom before": "Abort. Axiom x : 1+1=3.",
    "a parameter": "Parameter x : False.",
    "another theorem": "Abort. Theorem t : 1+1=2. reflexivity.",
    "a theorem of the same name": "Abort. Theorem theorem_of_ours : True. exact I.",
    "a lemma inside": "Lemma x : False. Admitted.",
    "no guard": "Unset Guard Checking. exact ((fix f (n:nat) : 1+1=3 := f n) 0).",
    "no positivity": "Unset Positivity Checking. auto.",
    "types in types": "Unset Universe Checking. auto.",
    "symbols redefined": 'Notation "1" := 2. reflexivity.',
    "plus redefined": "Definition plus := 0.",
    "scope": "Set Printing All.",
    "a file": 'Load "x".',
    "a plug-in": 'Declare ML Module "x".',
    "a library": "Require Import Classical. tauto.",
    "a program": "Extraction plus.",
    "a redirected output": 'Redirect "/tmp/x" Print plus.',
    "back": "BackTo 1. Theorem t : True.",
    "undone": "Restart. Undo.",
    "the end": "Quit.",
    "drop": "Drop.",
    "compiled": "native_compute.",
    "a cast that is not checked": "exact_no_check I.",
    "another cast": "vm_cast_no_check I.",
    "shelved": "shelve.",
    "a comment": "(* *) reflexivity.",
    "a text": 'idtac "Closed under the global context".',
    "a timeout": "Timeout 1 auto.",
    "the proof's end": "Qed. Qed.",
    "an open section": "Section a.",
    "a hint": "Hint Resolve x.",
    "ltac": "exact ltac:(admit).",
    "an instance": "Instance x : True.",
    "zero": "reflexivity.\0",
    "marks": "\u202ereflexivity.",
}
TRIED = {  # what Coq refuses itself
    "nothing is proved": "idle",
    "reflexivity": "reflexivity.",
    "every tactic": "try reflexivity; try discriminate; try congruence; try tauto; try easy; auto.",
    "a fixed point": "exact ((fix f (n:nat) : 1+1=3 := f n) 0).",
    "a fixed point that seems to end": "exact ((fix f (n:nat) {struct n} : 1+1=3 := f (S n)) 0).",
    "a goal that is left": "assert (1=1). reflexivity.",
    "a cut that is left": "cut (1+1=3). intro a. exact a.",
    "another number": "change (1+1=2). reflexivity.",
    "a replaced side": "replace 3 with 2. reflexivity.",
    "the theorem itself": "exact theorem_of_ours.",
    "the theorem before": "exact theorem_of_ours_0.",
    "an evar": "eapply (fun x => x).",
    "a hole": "refine _.",
    "a term with a hole": "exact _.",
    "a match without cases": "refine (match 1 with end).",
    "bullets": "- - - reflexivity.",
    "braces": "{ reflexivity. }",
    "an exception": "exfalso. assumption.",
    "induction on nothing": "induction 1.",
    "deep": "exact " + "(" * 2000 + "I" + ")" * 2000 + ".",
    "large": "exact (eq_refl (100 * 100 * 100 * 100)).",
    "many": "try reflexivity; " * 500 + "auto.",
}


def nobody(jobs: object) -> list:
    raise AssertionError("Coq reads a text that is refused as it stands")


def test_coq_reads_no_commands() -> None:
    claims = [coq.Claim("1+1=3", text, strict=True) for text in COQ.values()]
    found = dict(zip(COQ, coq.verify(claims, nobody), strict=True))
    assert {one.verdict.status for one in found.values()} == {"fail"}
    odd = {"zero", "marks"}
    assert {one.verdict.kind for name, one in found.items() if name not in odd} == {"forbidden"}


@pytest.mark.slow
@pytest.mark.external("coq")
def test_coq_is_not_fooled() -> None:
    found = coq.verify([coq.Claim("1+1=3", text) for text in TRIED.values()])
    statuses = {name: one.verdict.status for name, one in zip(TRIED, found, strict=True)}
    assert statuses == dict.fromkeys(TRIED, "fail")


@pytest.mark.slow
@pytest.mark.external("coq")
def test_without_the_look_at_the_text_session_and_checker_still_refuse() -> None:
    """`Unset Guard Checking` proves 1+1=3, and `coqc` and `coqchk` both end with 0: their reports tell."""
    guard = ["Abort.", "Unset Guard Checking.", "Definition f := fix f (n:nat) : 1+1=3 := f n."]
    unguarded = [*guard, "Theorem theorem_of_ours : 1+1=3.", "exact (f 0)."]
    axiom = ["Abort.", "Axiom x : 1+1=3.", "Theorem theorem_of_ours : 1+1=3.", "exact x."]
    hacks = [["admit."], ["Axiom x : 1+1=3.", "exact x."], unguarded, axiom]
    session = workers_of("coq").map([{"statement": "1+1=3", "tactics": tactics} for tactics in hacks])
    assert "proved" not in {outcome.result["status"] for outcome in session}
    renamed = [[line.replace("of_ours", "of_ours_0") for line in tactics] for tactics in hacks]
    files = workers_of("coq").map([{"theorems": [["1+1=3", tactics]]} for tactics in renamed])
    assert {outcome.result["status"] for outcome in files} == {"refused"}
    after = workers_of("coq").map([{"statement": "1+1=2", "tactics": ["reflexivity."]}] * 4)
    assert {outcome.result["status"] for outcome in after} == {"proved"}
