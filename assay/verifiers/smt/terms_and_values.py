"""Verdicts on terms and values that a model wrote, against what a problem asks.

Values are put into the terms of the problem and computed here; no solver is asked. Two claims must be decided: that
there are no values, and that a term is right. For them Z3 is asked whether a term that must hold nowhere holds
somewhere. If so, it says where, and that place is computed here too: a refusal is never Z3's word alone. Z3 has a
budget of work that every machine counts alike. A problem must be decided within it by itself. An answer on which Z3
gives up is refused (`undecided`): else an answer could escape its zero by being too hard. A process that is lost,
killed or out of time is a fault of ours: `invalid`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from assay.externals import workers_of
from assay.host.workers import Outcome
from assay.types import Problem, Verdict
from assay.verifiers.answers import find_answer
from assay.verifiers.explained import Explained
from assay.verifiers.smt.golds import Gold, gold_of, gold_text
from assay.verifiers.smt.terms import LARGEST, LONGEST, Number, SmtTerm, Unreadable, Variables, plain, read, write
from assay.verifiers.smt.values import Undefined, everywhere, value
from assay.verifiers.unfinished import unfinished

NAME = "z3"
NONE = "unsat"  # the answer that no values exist
FAILED = ("undecided", "time", "memory")  # the kinds of an answer that its means do not suffice for
UNDECIDED = "undecided"  # the kind of a refusal because Z3 cannot decide within its budget
PLACES = 5_000  # at most so many values does the second oracle try
_VALUE = re.compile(
    r"\s*([a-z][a-z0-9]{0,7})\s*=\s*(true|false|-?[0-9]{1,10}(?:\.[0-9]{1,9}|/[0-9]{1,10})?|#b[01]{1,32}|#x[0-9a-fA-F]{1,8})\s*[,;]?"
)

Said = tuple[str, str] | None
"""A solver's word on a term: None: it holds nowhere; else ("" if it holds, a kind of `FAILED`, or a fault; why)."""


@dataclass(frozen=True)
class Candidate:
    """An answer that was read: a term, or values; `Candidate(values={"a": 3})`."""

    term: SmtTerm | None = None
    values: Mapping[str, Number] | None = None
    none: bool = False  # it says that there are no values


def verify(pairs: Sequence[tuple[Problem, str]]) -> list[Verdict]:
    """Verdicts on whole responses to problems whose spec says what is asked (`gold_text`)."""
    return [one.verdict for one in explain(_pairs(pairs))]


def verify_by_values(pairs: Sequence[tuple[Problem, str]]) -> list[Verdict]:
    """The second oracle: computes both sides at thousands of places, without Z3.

    On small domains these are all places; of whole numbers and long bit-vectors they are those around 0.
    """
    verdicts = []
    for text, answer in _pairs(pairs):
        gold, found = gold_of(text), _read(gold_of(text), answer)
        early = _early(gold, answer, found)
        verdicts.append(early[0] if early else _by_values(gold, _candidate(found)))
    return verdicts


def _pairs(pairs: Sequence[tuple[Problem, str]]) -> list[tuple[str, str | None]]:
    return [(gold_text(problem.spec), find_answer(text, problem.wording)) for problem, text in pairs]


def explain(pairs: Sequence[tuple[str, str | None]]) -> list[Explained]:
    """Judges pairs of a problem, as `gold_text` writes it, and an answer."""
    golds = _golds_of([text for text, _ in pairs])
    found = [_read(golds[text], answer) for text, answer in pairs]
    asked: dict[int, list[SmtTerm]] = {}
    for i, ((text, _), one) in enumerate(zip(pairs, found, strict=True)):
        if not golds[text].trouble and isinstance(one, Candidate) and one.values is None:
            asked[i] = [golds[text].terms["all"]] if one.none else [q for _, q in golds[text].claims(_term(one))]
    said = dict(zip(asked, _ask(list(asked.values())), strict=True))
    return [
        _explained(golds[text], answer, one, said.get(i, ()))
        for i, ((text, answer), one) in enumerate(zip(pairs, found, strict=True))
    ]


def _term(candidate: Candidate) -> SmtTerm:
    assert candidate.term is not None
    return candidate.term


def _candidate(found: Candidate | str) -> Candidate:
    assert isinstance(found, Candidate)
    return found


_golds: dict[str, Gold] = {}
_MOST_GOLDS = 16_384


def _golds_of(texts: Sequence[str]) -> dict[str, Gold]:
    """The problems of these texts, each looked at once, unless Z3 could not say."""
    new = {text: gold_of(text) for text in dict.fromkeys(texts) if text not in _golds}
    asked = [(text, why, term) for text, gold in new.items() if not gold.trouble for why, term in gold.demands()]
    for (text, why, _), (reply,) in zip(asked, _ask([[term] for _, _, term in asked]), strict=True):
        if reply is None:
            new[text] = replace(new[text], trouble=new[text].trouble or why)
        elif reply[0]:
            kind = "worker_lost" if reply[0] == "worker_lost" else "bad_gold"
            new[text] = replace(new[text], trouble=f"Z3 did not answer about the problem ({reply[1]})", kind=kind)
    lost = {text for text, gold in new.items() if gold.kind == "worker_lost"}
    golds = new | {text: _golds[text] for text in texts if text in _golds}
    for text in new.keys() - lost:
        if len(_golds) >= _MOST_GOLDS:
            _golds.pop(next(iter(_golds)))
        _golds[text] = new[text]
    return golds


def _read(gold: Gold, answer: str | None) -> Candidate | str:
    """The answer as the problem asks for it, or why it is none."""
    if answer is None:
        return "no marked answer"
    if gold.trouble:
        return gold.trouble
    if len(answer) > LONGEST:
        return f"longer than {LONGEST} characters"
    try:
        if gold.ask != "values":
            sort = gold.terms["term"].sort if gold.ask == "equal" else "Bool"
            return Candidate(term=read(answer, gold.variables, sort))
        return Candidate(none=True) if answer.strip() == NONE else Candidate(values=_values(answer, gold.variables))
    except Unreadable as why:
        return str(why)


def _values(text: str, variables: Variables) -> dict[str, Number]:
    """The value of each variable once: `a=3 b=-2 p=true x=#b0101 r=1/3`."""
    values: dict[str, Number] = {}
    position = 0
    while position < len(text):
        match = _VALUE.match(text, position)
        if match is None or (match.end() < len(text) and text[match.end() - 1] not in " ,;\n\t"):
            raise Unreadable(f"expected values such as 'a=3 b=-2', or '{NONE}', at: {text[position : position + 20]}")
        name, written = match[1], match[2]
        if name not in variables or name in values:
            raise Unreadable(f"the variables are {', '.join(variables)}, each once, not '{name}'")
        values[name] = _written(name, written, variables)
        position = match.end()
    if len(values) < len(variables):
        raise Unreadable(f"no value of {', '.join(name for name in variables if name not in values)}")
    return values


def _written(name: str, written: str, variables: Variables) -> Number:
    sort = variables[name]
    if sort == "Real" and written[0] not in "tf#":
        with suppress(ZeroDivisionError):
            return Fraction(written)
    if written in ("true", "false"):
        if sort == "Bool":
            return int(written == "true")
    elif written[0] == "#":
        term = read(written, {}, sort)
        assert term.value is not None
        return term.value
    elif "." in written or "/" in written:
        pass
    elif (sort == "Int" and abs(int(written)) <= LARGEST) or (type(sort) is int and 0 <= int(written) < 1 << sort):
        return int(written)
    raise Unreadable(f"{written} is no value of '{name}'")


def _ask(answers: Sequence[Sequence[SmtTerm]]) -> list[list[Said]]:
    """Z3's word on the terms of each answer. The terms of an answer share the seconds of an answer. A place where a
    term holds is computed here before it is believed.
    """
    if not answers:
        return []
    outcomes = workers_of(NAME).map([{"terms": [plain(term) for term in terms]} for terms in answers])
    return [_of_answer(terms, outcome) for terms, outcome in zip(answers, outcomes, strict=True)]


def _of_answer(terms: Sequence[SmtTerm], outcome: Outcome) -> list[Said]:
    if (verdict := unfinished(outcome, "z3")) is not None:
        return [(verdict.kind, verdict.detail)] * len(terms)
    return [_said(term, answer) for term, answer in zip(terms, outcome.result["answers"], strict=True)]


def _said(term: SmtTerm, answer: dict[str, Any]) -> Said:
    if answer["status"] == "unsat":
        return None
    if answer["status"] != "sat":
        return UNDECIDED, f"Z3 gives up within its budget ({answer.get('detail', '')})"
    variables = {one.operator: one.sort for one in term if one.operator != "value" and not one.arguments}
    values = {name: _exact(answer["values"].get(name, 0)) for name in variables}
    try:
        holds = value(term, values)
    except Undefined:
        return UNDECIDED, "Z3 says that it holds where it divides by 0, which has no value"
    if not holds:
        return "bug", f"Z3 says that a term holds for {_told(values, variables)}, and it does not"
    return "", f"for {_told(values, variables)}"


def _exact(said: int | str) -> Number:
    return Fraction(said) if isinstance(said, str) else said


def _told(values: Mapping[str, Number], variables: Variables) -> str:
    texts = {
        name: ("false", "true")[int(found)] if variables[name] == "Bool" else found for name, found in values.items()
    }
    return " ".join(f"{name}={texts[name]}" for name in sorted(texts))


def _early(gold: Gold, answer: str | None, found: Candidate | str) -> tuple[Verdict, str] | None:
    """The verdict on an answer that is not looked at further, and the layer that decides."""
    if gold.trouble:
        return Verdict.invalid(gold.kind, f"{gold.trouble}: {gold.text[:80]}"), "gold"
    if answer is not None and not answer.strip():
        return Verdict.fail("empty"), "text"
    return (Verdict.fail("format", found), "text") if isinstance(found, str) else None


def _explained(gold: Gold, answer: str | None, found: Candidate | str, said: Sequence[Said]) -> Explained:
    verdict, layer = _early(gold, answer, found) or _decided(gold, _candidate(found), said)
    right = "its values fulfil all terms" if layer == "values" else "Z3 finds no place that speaks against it"
    return Explained(verdict, gold.text, answer, "", layer, verdict.detail or verdict.kind or right)


def _decided(gold: Gold, found: Candidate, said: Sequence[Said]) -> tuple[Verdict, str]:
    if found.values is not None:
        text = _told(found.values, gold.variables)
        try:
            holds = value(gold.terms["all"], found.values)
        except Undefined as error:
            return Verdict.fail("wrong", str(error), text), "values"
        return (Verdict.ok(text) if holds else Verdict.fail("wrong", "not all terms hold", text)), "values"
    text = NONE if found.none else write(_term(found))
    meanings = ["there are values"] if found.none else [why for why, _ in gold.claims(_term(found))]
    refusals = [(why, reply) for why, reply in zip(meanings, said, strict=True) if reply is not None]
    for why, (kind, counterexample) in refusals:
        if not kind:
            return Verdict.fail("wrong", f"{why}, {counterexample}", text), "z3"
    for _, (kind, why) in sorted(refusals, key=lambda refusal: refusal[1][0] in FAILED):  # a fault of ours comes first
        return Verdict.fail(kind, why, text) if kind in FAILED else Verdict.invalid(kind, why), "z3"
    return Verdict.ok(text), "z3"


def _by_values(gold: Gold, found: Candidate) -> Verdict:
    if found.values is not None:
        return _decided(gold, found, ())[0]
    claims = [("there are values", gold.terms["all"])] if found.none else gold.claims(_term(found))
    term = SmtTerm("or", "Bool", tuple(term for _, term in claims)) if len(claims) > 1 else claims[0][1]
    for values in everywhere(gold.variables, _reach(gold.variables)):
        if _holds(term, values):
            return Verdict.fail("wrong", f"not {_told(values, gold.variables)}")
    return Verdict.ok(NONE if found.none else write(_term(found)))


def _holds(term: SmtTerm, values: Mapping[str, Number]) -> bool:
    try:
        return bool(value(term, values))
    except Undefined:
        return False


def _reach(variables: Variables) -> int:
    """As far from 0 as all places stay within `PLACES`."""
    reach = 1
    while _places(variables, reach + 1) <= PLACES and reach < PLACES:
        reach += 1
    return reach


def _places(variables: Variables, reach: int) -> int:
    count = 1
    for sort in variables.values():
        near = {"Bool": 2, "Int": 2 * reach + 1, "Real": 4 * reach + 1}
        count *= near[sort] if isinstance(sort, str) else min(1 << sort, 2 * reach + 1)
    return count
