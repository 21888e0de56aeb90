"""Theorems of a Metamath database that lies in a file, such as set.mm: where they stand, and proofs of them.

A proof is put into the database as a theorem of its own, in the scope of the statement and just before it: so it may
use what stands above, and nothing that follows. The program `metamath` reads the file and verifies it. What the
database itself states is believed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.externals import workers_of
from assay.host.workers import Outcome
from assay.types import Verdict
from assay.verifiers.unfinished import starved, unfinished

MOST_CHARACTERS = 200_000
AT_ONCE = 50  # proofs in one text
_PROOF = re.compile(r"[A-Za-z0-9._\s()-]+")
_MARK = re.compile(r"(?<!\S)\$[{}()=.cvdfeap\[](?!\S)")
Ask = Callable[[Sequence[Any]], list[Outcome]]
Given = tuple[tuple[str, str], ...]


class Unusable(ValueError):
    """A database, or a statement for it, that cannot be used, and why."""


@dataclass(frozen=True)
class Stated:
    """A theorem: its hypotheses by label, its statement, and the place in the text before which a proof of it goes."""

    label: str
    hypotheses: Given
    statement: str
    place: int
    block: str = ""  # what opens a scope at that place with the hypotheses, for a statement that the text lacks


def theorems(text: str) -> dict[str, Stated]:
    """The theorems of a database by label. Raises Unusable."""
    scopes: list[list[tuple[str, str]]] = [[]]
    named: dict[str, Stated] = {}
    end = 0  # of the last statement
    marks = _MARK.finditer(text)
    for mark in marks:
        match mark[0]:
            case "$(":
                end = _behind(marks, "$)")
            case "${":
                scopes.append([])
                end = mark.end()
            case "$}":
                if len(scopes) == 1:
                    raise Unusable("'$}' closes no scope")
                scopes.pop()
                end = mark.end()
            case "$[":
                raise Unusable("a file is included: a database is one file")
            case "$e" | "$p" | "$a" as kind:
                label, after = text[end : mark.start()].split(), mark.end()
                begin = end
                stop = _behind(marks, "$=" if kind == "$p" else "$.")
                formula = " ".join(text[after : stop - 2].split())
                end = _behind(marks, "$.") if kind == "$p" else stop
                if kind == "$e":
                    scopes[-1].append((label[-1], formula))
                elif kind == "$p":
                    given = tuple(pair for scope in scopes for pair in scope)
                    named[label[-1]] = Stated(label[-1], given, formula, begin)
            case _:
                end = mark.end() if mark[0] == "$." else _behind(marks, "$.")
    return named


def _behind(marks: Any, wanted: str) -> int:
    """The end of the next mark of this kind."""
    for mark in marks:
        if mark[0] == wanted:
            return mark.end()
    raise Unusable(f"the text ends before a '{wanted}'")


def symbols(text: str) -> set[str]:
    """The constants and variables that a database declares."""
    bare = re.sub(r"(?<!\S)\$\((?!\S).*?(?<!\S)\$\)(?!\S)", " ", text, flags=re.DOTALL)
    rows = re.findall(r"(?<!\S)\$[cv](?!\S)(.*?)(?<!\S)\$\.(?!\S)", bare, re.DOTALL)
    return {symbol for row in rows for symbol in row.split()}


def statement(text: str, place: int, known: set[str]) -> Stated:
    """The theorem that a file of miniF2F states: a block for the end of a database, in a comment, with `@` for `$`.

    Raises Unusable, also where the database lacks a symbol.
    """
    body = re.sub(r"(?<!\S)\$@(?!\S)", "@.", text.strip().removeprefix("$(").removesuffix("$)"))
    body = re.sub(r"(?<!\S)@\((?!\S).*?(?<!\S)@\)(?!\S)|(?<=@\.)\s*\(Contributed.*?@\.", " ", body, flags=re.DOTALL)
    stated_here = theorems(re.sub(r"(?<!\S)@([{}=.ep])(?!\S)", r"$\1", body))
    if len(stated_here) != 1:
        raise Unusable(f"expected one theorem, and there are {len(stated_here)}")
    (stated,) = stated_here.values()
    used = {symbol for _, formula in (*stated.hypotheses, ("", stated.statement)) for symbol in formula.split()}
    if lacking := sorted(used - known):
        raise Unusable(f"the database has no symbol {' '.join(lacking[:5])}: it is of another version")
    block = "".join(f"{label} $e {formula} $.\n" for label, formula in stated.hypotheses)
    return Stated(stated.label, stated.hypotheses, stated.statement, place, block)


@dataclass(frozen=True)
class Claim:
    """A proof of a theorem of the database in `file`, whose text has this digest."""

    file: str
    digest: str
    place: int
    block: str
    statement: str
    proof: str

    @classmethod
    def of(cls, spec: Mapping[str, Any], proof: str) -> Claim:
        return cls(spec["file"], spec["digest"], spec["place"], spec["block"], spec["statement"], proof)

    def written(self, label: str) -> str:
        """The theorem with its proof, as a part of the database."""
        own = f"{label} $p {self.statement} $= {' '.join(self.proof.split())} $.\n"
        return f"\n${{ {self.block}{own}$}}\n" if self.block else f"\n{own}"


def verify(claims: Sequence[Claim], ask: Ask | None = None) -> list[Verdict]:
    """Verdicts on claims by the program `metamath`. `ask` sends jobs to it; by default to the worker processes."""
    verdicts = [_by_text(claim.proof) for claim in claims]
    left = [i for i, verdict in enumerate(verdicts) if verdict is None]
    groups: dict[tuple[str, str], list[int]] = {}
    for i in left:
        groups.setdefault((claims[i].file, claims[i].digest), []).append(i)
    parts = [own[i : i + AT_ONCE] for own in groups.values() for i in range(0, len(own), AT_ONCE)]
    send = ask or workers_of("metamath").map
    outcomes = send([_job([claims[i] for i in part]) for part in parts]) if parts else []
    results = {
        i: (outcome, f"assay-{n}") for part, outcome in zip(parts, outcomes, strict=True) for n, i in enumerate(part)
    }
    again = [i for i, (outcome, label) in results.items() if not _proved(outcome, label)]
    alone = send([_job([claims[i]]) for i in again]) if again else []
    results |= {i: (outcome, "assay-0") for i, outcome in zip(again, alone, strict=True)}
    for i, (outcome, label) in results.items():
        verdicts[i] = _decided(outcome, label, claims[i].proof)
    return [verdict for verdict in verdicts if verdict is not None]


def _by_text(proof: str) -> Verdict | None:
    if not proof.strip():
        return Verdict.fail("empty")
    if len(proof) > MOST_CHARACTERS:
        return Verdict.fail("long", f"longer than {MOST_CHARACTERS} characters")
    if "?" in proof or "$" in proof:
        return Verdict.fail("forbidden", "'?' proves nothing, and '$' begins statements of a database")
    if _PROOF.fullmatch(proof) is None or not proof.isascii():
        return Verdict.fail("format", "a proof is a row of labels, or '( LABELS ) LETTERS'")
    return None


def _job(claims: Sequence[Claim]) -> dict[str, Any]:
    inserted = sorted((claim.place, claim.written(f"assay-{n}")) for n, claim in enumerate(claims))
    file = {"file": claims[0].file, "digest": claims[0].digest}
    return {**file, "inserted": inserted, "theorems": [f"assay-{n}" for n in range(len(claims))]}


def _proved(outcome: Outcome, label: str) -> bool:
    return outcome.status == "done" and outcome.result["proved"].get(label, False)


def _decided(outcome: Outcome, label: str, proof: str) -> Verdict:
    if (verdict := unfinished(outcome, "metamath")) is not None:
        return verdict
    match outcome.result["ended"]:
        case "starved":
            return starved("metamath")
        case "other":
            return Verdict.invalid("bad_gold", outcome.result["said"])
        case "done" if not outcome.result["read"]:
            return Verdict.invalid("bad_gold", f"metamath cannot read the database: {outcome.result['said'][-300:]}")
        case "done" if _proved(outcome, label):
            return Verdict.ok(" ".join(proof.split()))
        case "done":
            return Verdict.fail("wrong", " ".join(outcome.result["said"].split())[-300:])
        case ended:
            return Verdict.fail("undecided", f"metamath exceeds its limit of {ended}")
