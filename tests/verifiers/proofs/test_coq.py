"""Verdicts on proofs in Coq: sentences, hacks, items written by hand, mutants of right answers, faults of ours."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, ClassVar

import pytest

from assay.externals import workers_of
from assay.externals.coq import CLOSED, answered
from assay.host.workers import Outcome
from assay.rng import Key
from assay.tasks import TASKS
from assay.verifiers.explainers import verifier
from assay.verifiers.proofs.coq import Claim, Unreadable, fenced, sentences, verify

AND = "forall P Q:Prop, P/\\Q->Q/\\P"
RIGHT = "intros P Q H. destruct H as [a b]. split. exact b. exact a."

BLIND = [  # statement, tactics, label: written by hand
    ("forall P:Prop, P->P", "intros. assumption.", True),
    ("forall P:Prop, P->P", "Proof.\nintros P H.\nexact H.\nQed.", True),
    ("forall P:Prop, P->P", "auto.", True),
    ("forall P:Prop, P->P", "intros P.", False),
    ("forall P:Prop, P->P", "intros P H. exact P.", False),
    ("forall P Q:Prop, P->Q", "auto.", False),
    ("forall P Q:Prop, P->Q", "intros P Q H. exact H.", False),
    ("forall P Q:Prop, P->Q", "tauto.", False),
    (AND, RIGHT, True),
    (AND, "intros P Q [a b]. split; assumption.", True),
    (AND, "intros P Q H. destruct H as [a b].\n- split.\n  + exact b.\n  + exact a.", True),
    (AND, "intros P Q H. destruct H as [a b]. split. { exact b. } { exact a. }", True),
    (AND, "intros P Q H. destruct H as [a b]. split. exact a. exact b.", False),
    (AND, "intros P Q H. destruct H as [a b]. split. exact b.", False),
    (AND, "intros P Q H. exact H.", False),
    ("forall P Q:Prop, P\\/Q->Q\\/P", "intros P Q H. destruct H as [a|a]. right. exact a. left. exact a.", True),
    ("forall P Q:Prop, P\\/Q->Q\\/P", "intros P Q H. destruct H as [a|a]. left. exact a. right. exact a.", False),
    ("forall P Q:Prop, P\\/Q->P", "intros P Q H. destruct H as [a|a]. exact a. exact a.", False),
    ("forall P:Prop, False->P", "intros P H. contradiction.", True),
    ("forall P:Prop, ~(P/\\~P)", "intros P H. destruct H as [a b]. apply b. exact a.", True),
    ("forall P:Prop, P\\/~P", "tauto.", False),
    ("forall P:Prop, ~~P->P", "tauto.", False),
    ("forall n:nat, 0+n=n", "intro n. reflexivity.", True),
    ("forall n:nat, n+0=n", "intro n. reflexivity.", False),
    ("forall n:nat, n+0=n", "intro n. induction n. reflexivity. simpl. rewrite IHn. reflexivity.", True),
    ("forall n:nat, n+0=n", "induction n; simpl; congruence.", True),
    ("forall n:nat, n+0=n", "induction n. reflexivity. reflexivity.", False),
    ("forall n m:nat, n+S m=S(n+m)", "intros n m. induction n. reflexivity. simpl. rewrite IHn. reflexivity.", True),
    ("1+1=3", "reflexivity.", False),
    ("1+1=2", "reflexivity.", True),
    ("1+1=3", "discriminate.", False),
    ("1+1=3 -> False", "intro H. discriminate H.", True),
    ("exists n:nat, n+n=4", "exists 2. reflexivity.", True),
    ("exists n:nat, n+n=4", "exists 1. reflexivity.", False),
]


@pytest.mark.slow
@pytest.mark.external("coq")
class TestSession:
    def test_items_written_by_hand_come_out_as_labelled(self) -> None:
        found = verify([Claim(statement, tactics) for statement, tactics, _ in BLIND])
        assert [one.verdict.status for one in found] == ["ok" if label else "fail" for *_, label in BLIND]

    def test_right_answers_are_right_and_their_mutants_are_verified_by_a_file_of_their_own(self) -> None:
        """300 mutants: tactics dropped, exchanged, repeated, with another name, or under another statement. What the
        session says is what `coqc` and `coqchk` say, who share nothing with it but the kernel's code.
        """
        draw = random.Random(5)
        task = TASKS["coq"]
        claims = []
        for number in range(60):
            spec = task.problem(Key(number, "coq mutants"), level=1 + number % 6).spec
            row = list(spec["witness"])
            place, other = draw.randrange(len(row)), draw.randrange(len(row))
            swapped = list(row)
            swapped[place], swapped[other] = swapped[other], swapped[place]
            renamed = [
                *row[:place],
                row[place].replace("a", "b") if " a" in row[place] else "split.",
                *row[place + 1 :],
            ]
            mutants = [row[:place] + row[place + 1 :], swapped, [*row[:place], *row[place:][:1], *row[place:]], renamed]
            claims += [Claim(spec["statement"], " ".join(tactics)) for tactics in mutants if tactics]
            changed = spec["statement"].replace(
                *draw.choice([("/\\", "\\/"), ("->", "/\\"), ("P", "False"), ("n", "S n")])
            )
            claims.append(Claim(changed.replace("forall S n", "forall n").replace("False:", "P:"), " ".join(row)))
        found = verify(claims)
        readable = [i for i, one in enumerate(found) if one.verdict.kind not in ("bad_gold",)]
        assert len(readable) > 250
        accepted = [i for i in readable if found[i].verdict.status == "ok"]
        again = verify([Claim(claims[i].statement, claims[i].tactics, strict=True) for i in accepted])
        assert [one.verdict.status for one in again] == ["ok"] * len(accepted)
        refused = [i for i in readable if found[i].verdict.status == "fail"][::8]
        jobs = [{"theorems": [[claims[i].statement, sentences(claims[i].tactics)]]} for i in refused]
        files = workers_of("coq").map(jobs)
        assert {outcome.result["status"] for outcome in files} == {"refused"}
        assert len(accepted) > 20 and len(refused) > 10

    def test_strict_claims_pass_the_checker_and_one_bad_one_spoils_no_other(self) -> None:
        found = verifier("coq").explain([(AND, RIGHT), (AND, f"so:\n```coq\n{RIGHT}\n```\n"), (AND, "split.")])
        assert [(one.verdict.status, one.layer) for one in found] == [
            ("ok", "checker"),
            ("ok", "checker"),
            ("fail", "session"),
        ]

    def test_a_statement_that_is_none_is_no_fault_of_the_answer(self) -> None:
        found = verify([Claim("forall P:Prop, R->", "auto."), Claim("P", "auto."), Claim(AND, RIGHT)])
        assert [one.verdict.kind for one in found] == ["bad_gold", "bad_gold", ""]

    def test_names_of_one_theorem_are_gone_in_the_next(self) -> None:
        own = "assert (helper : forall R:Prop, R -> R). auto. intros P H. exact (helper P H)."
        found = verify([Claim("forall P:Prop, P->P", own), Claim("forall P:Prop, P->P", "exact helper.")] * 3)
        assert [one.verdict.status for one in found] == ["ok", "fail"] * 3

    def test_tactics_that_do_not_end_are_stopped_and_the_next_theorem_is_proved(self) -> None:
        found = verify([Claim("1=2", "repeat pose (1+1)."), Claim("1=1", "reflexivity.")])
        assert [(one.verdict.status, one.verdict.kind) for one in found] == [("fail", "time"), ("ok", "")]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("intros. auto.", ["intros.", "auto."]),
        ("  intros P;\n split.\n", ["intros P;\n split."]),
        ("- auto. + auto. ** auto.", ["-", "auto.", "+", "auto.", "**", "auto."]),
        ("{ auto. } auto.", ["{", "auto.", "}", "auto."]),
        ("rewrite Nat.add_comm. auto.", ["rewrite Nat.add_comm.", "auto."]),
        ("rewrite <- H.", ["rewrite <- H."]),
        ("Proof. auto. Qed.", ["auto."]),
    ],
)
def test_sentences_are_cut_where_coq_cuts_them(text: str, found: list[str]) -> None:
    assert sentences(text) == found


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "empty"),
        ("  \n", "empty"),
        ("auto", "format"),
        ("auto. split", "format"),
        ("auto.split", "format"),
        ("1: auto.", "ok"),
        ("hack.", "forbidden"),
        ("...", "forbidden"),
        (".", "format"),
        ("auto. " * 400, "long"),
        ("x" * 10_000_000, "long"),
        ("auto.\0", "format"),
        ("\u202eauto.", "format"),
        ("(" * 9000 + "auto.", "ok"),
    ],
)
def test_what_is_no_row_of_tactics_is_named(text: str, kind: str) -> None:
    if kind == "ok":
        assert sentences(text)
        return
    with pytest.raises(Unreadable) as caught:
        sentences(text)
    assert caught.value.kind == kind


def test_code_blocks_of_coq_are_found() -> None:
    assert fenced("```coq\na.\n``` and ```Coq\nb.\n```") == "b.\n"
    assert fenced("```python\na\n```") is None


class Told:
    """Stands for Coq, with these answers to the session's and the checker's jobs."""

    proved: ClassVar = {"status": "proved", "place": 1, "said": ""}

    def __init__(self, *, session: Outcome | None = None, checker: Outcome | None = None) -> None:
        self.session = session or Outcome("done", self.proved)
        self.checker = checker or Outcome("done", {"status": "checked", "said": ""})

    def __call__(self, jobs: Sequence[Any]) -> list[Outcome]:
        return [self.checker if "theorems" in job else self.session for job in jobs]


@pytest.mark.parametrize(
    ("session", "checker", "kind"),
    [
        (Outcome("time"), None, "time"),
        (Outcome("crash"), None, "undecided"),
        (Outcome("done", {"status": "crash", "place": -1, "said": ""}), None, "undecided"),
        (None, Outcome("time"), "time"),
        (None, Outcome("done", {"status": "time", "said": ""}), "undecided"),
    ],
)
def test_what_an_answer_does_to_its_own_job_is_a_failure_of_the_answer(
    session: Outcome | None, checker: Outcome | None, kind: str
) -> None:
    given = {name: one for name, one in (("session", session), ("checker", checker)) if one is not None}
    (one,) = verify([Claim(AND, RIGHT, strict=True)], Told(**given))
    assert (one.verdict.status, one.verdict.kind) == ("fail", kind)


def test_what_a_session_tells_of_its_own_work_is_no_answer() -> None:
    loaded = "<infomsg>Fetching opaque proofs from disk for Coq.Init.Peano</infomsg>\n"
    assert answered(f"{loaded}{CLOSED}\n").strip() == CLOSED
    assert answered(f"<warning>old\nsyntax</warning>\n{loaded}Axioms:\nx : False").strip() == "Axioms:\nx : False"
    assert answered("Axioms:\n<infomsg> : False") == "Axioms:\n<infomsg> : False"


@pytest.mark.turns(3)
@pytest.mark.external("coq")
@pytest.mark.slow
def test_a_proof_has_the_same_verdict_in_a_new_session_and_in_a_used_one() -> None:
    """A session loads proofs of its library when an assumption is first looked up, and says that it does."""
    with_opaque_lemmas = [
        Claim("forall n : nat, n = n + 0", "intros n. apply plus_n_O."),
        Claim("forall P Q : Prop, P /\\ Q -> P", "intros P Q H. apply proj1 in H. exact H."),
    ]
    workers_of("coq").close()
    found = [one.verdict for _ in range(3) for one in verify(with_opaque_lemmas)]
    workers_of("coq").close()
    found += [one.verdict for claim in with_opaque_lemmas[::-1] for one in verify([claim])]
    assert {verdict.status for verdict in found} == {"ok"}


def test_faults_of_ours_are_no_verdict_on_the_answer() -> None:
    def kind(ask: Told) -> tuple[str, str]:
        (one,) = verify([Claim(AND, RIGHT, strict=True)], ask)
        return one.verdict.status, one.verdict.kind

    assert kind(Told()) == ("ok", "")
    assert kind(Told(session=Outcome("lost"))) == ("invalid", "worker_lost")
    assert kind(Told(session=Outcome("done", {"status": "starved", "place": 0, "said": ""})))[0] == "invalid"
    assert kind(Told(checker=Outcome("lost"))) == ("invalid", "worker_lost")
    assert kind(Told(session=Outcome("error", detail="KeyError"))) == ("invalid", "bug")
    refused = Outcome("done", {"status": "refused", "said": "Axioms: x"})
    assert kind(Told(checker=refused)) == ("fail", "forbidden")
    assumed = Outcome("done", {"status": "assumptions", "place": 1, "said": "Axioms: x"})
    assert kind(Told(session=assumed)) == ("fail", "forbidden")
