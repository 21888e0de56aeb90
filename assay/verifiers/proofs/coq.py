"""Verdicts on proofs in Coq: the answer is a row of tactics, the statement is ours.

In training, `Qed` and `Print Assumptions` of a persistent session decide. In exams, and wherever else it is asked for,
the same proof must also be compiled by `coqc` and pass `coqchk` without axioms, type-in-type, unchecked recursion or
unchecked positivity.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from assay.externals import workers_of
from assay.host.workers import Outcome
from assay.types import Verdict
from assay.verifiers.explained import Explained, Verified, explain_blocks
from assay.verifiers.unfinished import starved, unfinished

MOST_CHARACTERS = 10_000
MOST_TACTICS = 300
AT_ONCE = 20  # theorems in one file that is compiled and checked
Ask = Callable[[Sequence[Any]], list[Outcome]]

TACTICS = {
    *("intro", "intros", "exact", "apply", "eapply", "assumption", "eassumption", "split", "left", "right", "exists"),
    *("constructor", "econstructor", "destruct", "induction", "case", "elim", "inversion", "injection", "discriminate"),
    *("reflexivity", "symmetry", "transitivity", "rewrite", "simpl", "cbn", "unfold", "fold", "change", "replace"),
    *("subst", "f_equal", "congruence", "contradiction", "exfalso", "absurd", "assert", "cut", "pose", "specialize"),
    *("generalize", "revert", "clear", "rename", "auto", "eauto", "trivial", "easy", "now", "tauto", "intuition"),
    *("firstorder", "try", "repeat", "do", "refine", "red", "hnf", "lapply", "decide", "eexists"),
}
OF_LIBRARY = {"lia", "nia", "ring"}
"""Tactics of the standard library, which a claim with the preamble `library` may use."""
_FORBIDDEN = {
    *("admit", "give_up", "Admitted", "Abort", "Axiom", "Axioms", "Parameter", "Parameters", "Hypothesis", "Variable"),
    *("Conjecture", "Theorem", "Lemma", "Definition", "Fixpoint", "CoFixpoint", "Inductive", "Notation", "Ltac"),
    *("Ltac2", "ltac", "ltac2", "Set", "Unset", "Require", "Import", "Load", "Declare", "Extraction", "Module"),
    *("Section", "End", "Reset", "BackTo", "Undo", "Restart", "Drop", "Quit", "Redirect", "Opaque", "Transparent"),
    *("Eval", "Compute", "Check", "Print", "Search", "Goal", "Save", "Defined", "Proof", "Qed", "Hint", "Instance"),
    *("vm_compute", "native_compute", "vm_cast_no_check", "native_cast_no_check", "exact_no_check", "abstract"),
    *("shelve", "unshelve", "optimize_heap", "idtac", "Timeout", "Fail", "Time", "Obligation", "Program"),
}
_WORD = re.compile(r"[A-Za-z_][\w']*")
_BULLET = re.compile(r"\s*(?:(-+|\++|\*+)(?![->])|([{}]))")
_SENTENCE = re.compile(r"\s*([^.]|\.(?!\s|$))+\.(?=\s|$)")
_FENCE = re.compile(r"```(?:coq|rocq)\s*\n(.*?)```", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True)
class Claim:
    """A statement, and the tactics that are said to prove it: `Claim("forall P:Prop, P->P", "intros. assumption.")`.

    A strict claim must pass `coqc` and `coqchk` too. With the preamble `library`, Arith, Lia and List are loaded.
    """

    statement: str
    tactics: str
    strict: bool = False
    preamble: Literal["", "library"] = ""

    @property
    def job(self) -> dict[str, Any]:
        """What Coq is asked. Raises Unreadable."""
        return asked(self.statement, sentences(self.tactics, self.preamble), self.preamble)


class Unreadable(ValueError):
    """The text is no row of tactics: the kind of the verdict, and why."""

    def __init__(self, kind: str, why: str) -> None:
        super().__init__(why)
        self.kind = kind


def asked(statement: str, tactics: Sequence[str], preamble: str) -> dict[str, Any]:
    """The job of a session: a theorem, the tactics, and what is loaded before."""
    return {"statement": statement, "tactics": list(tactics), **({"preamble": preamble} if preamble else {})}


def fenced(text: str) -> str | None:
    """The last code block of Coq in a response; None if there is none."""
    blocks = _FENCE.findall(text)
    return blocks[-1] if blocks else None


def sentences(text: str, preamble: str = "") -> list[str]:
    """The tactics of a proof, one sentence each; bullets and braces count as sentences. Raises Unreadable."""
    if not text.strip():
        raise Unreadable("empty", "")
    if len(text) > MOST_CHARACTERS:
        raise Unreadable("long", f"longer than {MOST_CHARACTERS} characters")
    odd = next((c for c in text if not (c.isascii() and (c.isprintable() or c in "\n\t\r"))), None)
    if odd is not None:
        raise Unreadable("format", f"the character U+{ord(odd):04X} stands in no proof")
    text = text.strip().removeprefix("Proof.").removesuffix("Qed.").strip()
    if '"' in text or "(*" in text or "*)" in text or "`" in text:
        raise Unreadable("forbidden", "texts in quotes, comments and back quotes are not allowed")
    word = next((word for word in _WORD.findall(text) if word in _FORBIDDEN), None)
    if word is not None:
        raise Unreadable("forbidden", f"'{word}' is not allowed: a proof is a row of tactics")
    return _cut(text, TACTICS | OF_LIBRARY if preamble else TACTICS)


def _cut(text: str, known: set[str]) -> list[str]:
    tactics: list[str] = []
    position = 0
    while text[position:].strip():
        if bullet := _BULLET.match(text, position):
            tactics.append(bullet[1] or bullet[2])
            position = bullet.end()
            continue
        sentence = _SENTENCE.match(text, position)
        if sentence is None:
            raise Unreadable("format", "the last sentence does not end with '.'")
        first = _WORD.search(sentence[0])
        if first is None or first[0] not in known:
            raise Unreadable("forbidden", f"'{sentence[0].strip()[:40]}' begins with no tactic that is allowed")
        if sentence[0].endswith(".."):  # to Coq '..' is a word, behind which it waits for the end of the sentence
            raise Unreadable("format", "a sentence ends with one full stop")
        tactics.append(sentence[0].strip())
        position = sentence.end()
        if len(tactics) > MOST_TACTICS:
            raise Unreadable("long", f"more than {MOST_TACTICS} tactics")
    return tactics


def verify(claims: Sequence[Claim], ask: Ask | None = None) -> list[Verified]:
    """Verdicts on claims. `ask` sends jobs to Coq; by default to the worker processes of the external."""
    verified: dict[int, Verified] = {}
    tactics: dict[int, list[str]] = {}
    jobs: list[dict[str, Any]] = []
    for i, claim in enumerate(claims):
        try:
            jobs.append(claim.job)
            tactics[i] = jobs[-1]["tactics"]
        except Unreadable as trouble:
            verified[i] = Verified(Verdict.fail(trouble.kind, str(trouble)))
    outcomes = (ask or workers_of("coq").map)(jobs) if jobs else []
    for i, outcome in zip(tactics, outcomes, strict=True):
        verified[i] = Verified(_decided(outcome, tactics[i]), "session")
    strict = [i for i in tactics if claims[i].strict and verified[i].verdict.status == "ok"]
    for preamble in sorted({claims[i].preamble for i in strict}):
        own = [i for i in strict if claims[i].preamble == preamble]
        theorems = [(claims[i].statement, tactics[i]) for i in own]
        for i, outcome in zip(own, _checked(theorems, ask or workers_of("coq").map, preamble), strict=True):
            verified[i] = _confirmed(verified[i], outcome)
    return [verified[i] for i in range(len(claims))]


def _decided(outcome: Outcome, tactics: Sequence[str]) -> Verdict:
    if (verdict := unfinished(outcome, "coq")) is not None:
        return verdict
    status, message = outcome.result["status"], " ".join(outcome.result["said"].split())[-300:]
    match status:
        case "proved":
            return Verdict.ok(" ".join(tactics))
        case "tactic":
            return Verdict.fail("wrong", f"tactic {outcome.result['place']} fails: {message}")
        case "open":
            return Verdict.fail("wrong", f"the proof is not complete: {message}")
        case "assumptions":
            return Verdict.fail("forbidden", f"the proof assumes what is not proved: {message}")
        case "time" | "output":
            return Verdict.fail(status, f"the proof exceeds the limit of {status}")
        case "crash":
            return Verdict.fail("undecided", "Coq crashes on the proof")
        case "statement":
            return Verdict.invalid("bad_gold", f"the statement: {message}")
        case _:
            return Verdict.invalid("worker_lost", f"coq: {status}")


def _checked(theorems: Sequence[tuple[str, list[str]]], ask: Ask, preamble: str) -> list[Outcome]:
    """An outcome for each theorem: many in one file first, and each alone where such a file is refused."""
    loaded = {"preamble": preamble} if preamble else {}
    parts = [range(i, min(i + AT_ONCE, len(theorems))) for i in range(0, len(theorems), AT_ONCE)]
    together = ask([{"theorems": [theorems[i] for i in part], **loaded} for part in parts])
    found = {i: outcome for part, outcome in zip(parts, together, strict=True) for i in part}
    alone = [i for i, one in found.items() if one.status != "done" or one.result["status"] != "checked"]
    if alone:
        found |= dict(zip(alone, ask([{"theorems": [theorems[i]], **loaded} for i in alone]), strict=True))
    return [found[i] for i in range(len(theorems))]


def _confirmed(found: Verified, outcome: Outcome) -> Verified:
    if (verdict := unfinished(outcome, "coqchk")) is not None:
        return Verified(verdict, "checker")
    status = outcome.result["status"]
    if status == "starved":
        return Verified(starved("coqchk"), "checker")
    if status in ("time", "output"):
        return Verified(Verdict.fail("undecided", f"coqc and coqchk exceed the limit of {status}"), "checker")
    if status != "checked":
        said = f"the session accepts the proof, and the checker does not: {outcome.result['said'][-300:]}"
        return Verified(Verdict.fail("forbidden", said), "checker")
    return Verified(found.verdict, "checker")


def explain(pairs: Sequence[tuple[str, str]]) -> list[Explained]:
    """Judges pairs of a statement and tactics, or a response with a code block of Coq; all of them strictly."""

    def strictly(texts: Sequence[tuple[str, str]]) -> list[Verified]:
        return verify([Claim(statement, answer, strict=True) for statement, answer in texts])

    return explain_blocks(pairs, fenced, strictly, "Qed, closed assumptions, coqc and coqchk")
