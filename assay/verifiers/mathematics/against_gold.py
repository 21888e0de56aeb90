"""Verdicts on mathematics answers. Golds that our grammar cannot read go to a
computer algebra system in child processes, with a deadline that is the same for every pair.

An answer on which the computer algebra system hangs is wrong (`time`). If such an answer were ignored, a policy could
learn to hang the verifier instead of being wrong. A gold on which the system hangs, or that it cannot read, gives an
invalid verdict: the answer is not to blame.
"""

from __future__ import annotations

import importlib.util
import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from assay.errors import ConfigError
from assay.host.worker import Preparation
from assay.host.workers import Outcome, Workers
from assay.types import Problem, Verdict
from assay.verifiers.explained import Explained, bad_gold
from assay.verifiers.mathematics import words
from assay.verifiers.mathematics.compare import UNDECIDED, Decision, compare
from assay.verifiers.mathematics.conclusions import chosen
from assay.verifiers.mathematics.expressions import plain_number
from assay.verifiers.mathematics.symbolic import GOLD_ASKED, GOLD_READ
from assay.verifiers.mathematics.writing import ONE_LINE, Found, balanced, clean, find, squeezed

GOLD_LONGEST = 200_000
SECONDS = 0.4  # of the processor, for what exact arithmetic leaves undecided about an answer
GOLD_SECONDS = 1.0  # and before it for the gold alone, because that work is not the answer's
REMEMBERED = 65_536  # results of the worker processes that are kept, because answers of a group are often the same
WORKER = "assay.verifiers.mathematics.symbolic_worker:answer"


def verify(pairs: Sequence[tuple[Problem, str]]) -> list[Verdict]:
    """Verdicts on whole responses to problems whose spec has a `gold`, in order."""
    golds = [as_asked(problem.spec.get("gold"), problem.prompt) for problem, _ in pairs]
    return [one.verdict for one in explain([(gold, text) for gold, (_, text) in zip(golds, pairs, strict=True)])]


_ROUNDED = re.compile(
    r"\\(?:thick)?approx|nearest|decimal (?:place|digit)|significant (?:figure|digit)|\bround(?:ed|ing)?\b",
    re.IGNORECASE,
)


def as_asked(gold: Any, question: str | Sequence[Mapping[str, Any]]) -> Any:
    """The gold, marked as rounded (`\\approx`) if it is a decimal and the question asks for rounding."""
    text = question if isinstance(question, str) else " ".join(str(message.get("content")) for message in question)
    decimal = isinstance(gold, str) and re.search(r"\d\.\d|(?<!\d)\.\d", gold) and "approx" not in gold
    return rf"\approx {gold_of(gold)[0] or gold}" if decimal and _ROUNDED.search(text) else gold


def explain(pairs: Sequence[tuple[str | None, str]]) -> list[Explained]:
    """Judges (gold, response) pairs, in order."""
    first = [_exactly(gold, response) for gold, response in pairs]
    open_pairs = [(one.gold or "", one.answer or "") for one in first if one.verdict.kind == OPEN]
    decided = _symbolically(list(dict.fromkeys(open_pairs)))
    return [
        _settled(one, decided[one.gold or "", one.answer or ""]) if one.verdict.kind == OPEN else one for one in first
    ]


OPEN = "open"  # the kind of a verdict that is still to come


def _exactly(gold: str | None, response: str) -> Explained:
    wanted, trouble = gold_of(gold)
    if wanted is None:
        return bad_gold(trouble)
    if alike(gold or "", response):
        return Explained(
            Verdict("ok", "", "text: the gold itself", canonical(wanted)),
            wanted,
            wanted,
            "whole",
            "text",
            "the gold itself",
        )
    extracted = find(response)
    if extracted.text is None:
        kind = "empty" if not response.strip() else "format"
        why = {"unclosed": "a box that does not close", "unfinished-thought": "the reasoning does not end"}
        reason = why.get(extracted.mark, "no marked answer")
        return Explained(Verdict.fail(kind, reason), wanted, None, extracted.mark, "extraction", reason)
    if not extracted.text.strip():
        return Explained(Verdict.fail("empty", "an empty answer"), wanted, "", extracted.mark, "extraction", "empty")
    decision, answer = _decided(wanted, extracted)
    if not decision.equal and extracted.mark in ("anchor", "whole", "conclusion") and (letter := chosen(response)):
        choice = compare(wanted, letter) if words.choice(clean(wanted)) else decision
        decision, answer = (choice, letter) if choice.equal else (decision, answer)
    more = f"; the last of {extracted.different} different ones" if extracted.different > 1 else ""
    verdict = _verdict(decision, answer, more)
    return Explained(verdict, wanted, answer, extracted.mark, decision.layer, decision.why + more)


def _decided(wanted: str, found: Found) -> tuple[Decision, str]:
    """(the decision, the text that it is about): on the answer as it stands, or on what the sentence says."""
    assert found.text is not None
    if found.mark != "conclusion":
        whole = compare(wanted, found.text)
        if whole.equal or found.values in ((), (found.text,)):
            return whole, found.text
    decisions = [compare(wanted, value) for value in found.values]
    if len(decisions) == 1:
        return decisions[0], found.values[0]
    against = next((decision for decision in decisions if not decision.equal), None)
    if against is None:
        return decisions[-1], found.values[-1]
    if against.equal is None:
        against = Decision(False, UNDECIDED, "several values, of which some need the library")
    return against, ", ".join(found.values)


def gold_of(gold: str | None) -> tuple[str | None, str]:
    """(the answer that a gold states, or the reason why there is none). Of a
    worked solution, the marked answer is taken.
    """
    if not isinstance(gold, str) or not gold.strip():
        return None, "the row has no gold answer"
    found = find(gold[-GOLD_LONGEST:])
    marks = ("box", "####", "answer-tag", *(("anchor",) if len(gold) > ONE_LINE or "\n" in gold.strip() else ()))
    wanted = found.text if found.text is not None and found.mark in marks else gold.strip()
    if not wanted.strip():
        return None, "the gold answer is empty"
    if not balanced(clean(wanted)):
        return None, "the gold's braces do not close"
    return wanted.strip(), ""


def alike(gold: str, response: str) -> bool:
    """Whether a response is nothing but the gold as it stands in the data, though it may be a text of several lines."""
    return " ".join(gold.split()) == " ".join(response.split())


def _verdict(decision: Decision, answer: str, more: str = "") -> Verdict:
    detail = f"{decision.layer}: {decision.why}{more}"
    shown = canonical(answer)
    if decision.equal is None:
        return Verdict("invalid", OPEN, detail, shown)
    if decision.equal:
        return Verdict("ok", "", detail, shown)
    kind = {"form": "format", UNDECIDED: UNDECIDED}.get(decision.layer, "wrong")
    return Verdict.fail(kind, detail, shown)


@lru_cache(maxsize=4096)
def canonical(answer: str) -> str:
    """One spelling for equal answers, so that they can be counted together. Numbers are written as fractions."""
    text = squeezed(clean(answer))[:200]
    number = plain_number(text)
    short = number is not None and max(abs(number.value.numerator), number.value.denominator) < 10**60
    return str(number.value) if number is not None and short else text


# --- pairs that exact arithmetic leaves undecided -----------------------------------------------------------

_pool: list[Workers] = []
_known: OrderedDict[tuple[str, str], Outcome] = OrderedDict()


def require() -> None:
    """Raises ConfigError if Math-Verify is not installed. Called when a run is
    planned, not at the first hard answer.
    """
    if importlib.util.find_spec("math_verify") is None:
        raise ConfigError(
            "verifying mathematics answers needs math-verify, which is not installed. Install it with "
            "`pip install 'assay-rl[math]'`, or bring a reward function of your own with --reward."
        )


def pool() -> Workers:
    """The workers of this process, started when first needed."""
    if not _pool:
        require()
        _pool.append(Workers(WORKER, deadline=SECONDS, preparation=Preparation(GOLD_READ, GOLD_SECONDS)))
    return _pool[0]


def warm() -> None:
    """Starts the workers while something else is being loaded."""
    pool().warm()


def _symbolically(pairs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Outcome]:
    """The outcome of the library for each pair. Each pair has the same seconds, whatever is verified beside it."""
    missing = [pair for pair in pairs if pair not in _known]
    outcomes = pool().map([{"gold": gold, "answer": answer} for gold, answer in missing]) if missing else []
    fresh = dict(zip(missing, outcomes, strict=True))
    found = {pair: fresh[pair] if pair in fresh else _known[pair] for pair in pairs}
    _known.update((pair, outcome) for pair, outcome in fresh.items() if outcome.status != "lost")
    while len(_known) > REMEMBERED:
        _known.popitem(last=False)
    return found


def _settled(one: Explained, outcome: Outcome) -> Explained:
    """The verdict for an undecided pair, given the outcome of its worker process.

    If the worker was stopped while the library was at work on the gold alone, the gold is to blame; else the answer.
    """
    if outcome.status == "done" and not outcome.result.get("bad_gold"):
        decision = Decision(**outcome.result)
        verdict = _verdict(decision, one.answer or "")
    elif outcome.status == "lost":
        decision = Decision(None, "symbolic", outcome.detail)
        verdict = Verdict.invalid("worker_lost", outcome.detail)
    elif outcome.status == "done" or outcome.reached == GOLD_ASKED:
        decision = Decision(None, "symbolic", "the gold cannot be read as mathematics")
        verdict = Verdict.invalid("bad_gold", f"{decision.why}: {(one.gold or '')[:80]}")
    else:
        kind = outcome.status if outcome.status in ("time", "memory") else UNDECIDED
        why = {
            "time": f"no end within {SECONDS:g} s of the processor",
            "memory": "more memory than an answer may use",
            "crash": "the library crashes on it",
        }.get(outcome.status, f"the library raises {outcome.detail}")
        decision = Decision(False, "symbolic", why)
        verdict = Verdict.fail(kind, f"symbolic: {why}", one.verdict.answer)
    return Explained(verdict, one.gold, one.answer, one.mark, decision.layer, decision.why)
