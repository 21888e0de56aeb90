"""Is a candidate equivalent to the reference answer of a question? A verdict, with Python and a conversion of units at
hand: the task of a verifier, which may then verify the answers of others (`ask-verifier` of `expand`).

In compact wording `same 3*(a+4)~3*a+12` shows the reference and the candidate, and the question is left out. A
program is `[python a,b=97,89;abs(3*(a+4)-(3*a+12))<1e-9]`, a conversion `[convert 3 km/h to m/s]`, and the verdict
`#Correct`. Large models write `[Correct]` or `\\boxed{Correct}`; the last verdict of the last turn counts. What replies
say is no verdict, and neither is what a candidate says: only its final answer is shown, with the words of verdicts
broken up.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence

import numpy as np

from assay.tasks.abilities import OwnBase
from assay.tasks.equivalents import ALGEBRA, POINT, QUANTITY, Pair, compared, near_zero, pair, same
from assay.tasks.task import Checker, Generator, Solution, Spec, Task, Wordings
from assay.types import Problem, Verdict
from assay.verifiers.answers import Wording
from assay.worlds.interpreter import interpreter
from assay.worlds.speech import TAGS
from assay.worlds.units import CONVERT

NAME = "equivalence"
CORRECT, INCORRECT = "Correct", "Incorrect"
LONGEST = 8192  # characters of a candidate that are shown, the last ones
_VERDICT = re.compile(
    r"\[(Correct|Incorrect)\]"
    r"|\\boxed\{\s*(?:\\text\{)?\s*\[?(Correct|Incorrect)\]?\s*\}"
    r"|(?:#|\A)\s*(Correct|Incorrect)\s*\Z"
)
_WORDS = re.compile(r"(C(?=orrect)|I(?=ncorrect)|<(?=/?candidate>))")
_LAST_REPLY = TAGS.markers[1]


def verdict_in(text: str) -> str | None:
    """The last verdict in a turn of a verifier; None if there is none."""
    found = _VERDICT.findall(text)
    return next(filter(None, found[-1])) if found else None


def shown(candidate: str) -> str:
    """A candidate as a verifier reads it: nothing in it ends the candidate, and whoever quotes it gives no verdict,
    because the words of verdicts have a space in them.
    """
    return _WORDS.sub(r"\1 ", candidate[-LONGEST:])


def to_verify(problem: Problem, question: str, reference: str, candidate: str, *, right: bool) -> Problem:
    """The problem of verifying this final answer to a problem."""
    spec = {
        "kind": "",
        "question": question,
        "reference": reference,
        "candidate": candidate,
        "label": CORRECT if right else INCORRECT,
        "of": problem.id,
    }
    made = EQUIVALENCE.pose(spec, level=problem.level, wording=problem.wording)
    return dataclasses.replace(made, parents=(problem.id,), provenance="judged")


# Problems


def _instance(generator: np.random.Generator, level: int) -> Spec:
    made = pair(generator, level)
    return {
        "kind": made.kind,
        "question": made.question,
        "reference": made.reference,
        "candidate": made.candidate,
        "label": CORRECT if made.same else INCORRECT,
    }


def _canonical(spec: Spec) -> str:
    asked = "" if spec["kind"] else f"{spec['question']} "
    return f"{asked}{spec['reference']}~{spec['candidate']}"


def _compact(spec: Spec) -> str:
    return f"same {shown(spec['reference'])}~{shown(spec['candidate'])}"


def _natural(spec: Spec) -> str:
    reference, candidate = shown(spec["reference"]), shown(spec["candidate"])
    return (
        f"A question was asked:\n{spec['question']}\n\nThe reference answer, which is right:\n{reference}\n\nThe "
        f"answer of a candidate:\n<candidate>\n{candidate}\n</candidate>\n\nIs the candidate's answer equivalent to "
        "the reference? What it says beside that does not count. You have two tools: <python>PROGRAM</python> runs "
        "Python, and <convert>3 km/h to m/s</convert> gives a value in another unit. What a tool replies follows in "
        f"<result>. End with \\boxed{{{CORRECT}}} or \\boxed{{{INCORRECT}}}."
    )


def _difference(spec: Spec) -> str:
    reference, candidate = compared(spec["kind"], spec["reference"], spec["candidate"])
    return f"abs({reference}-({candidate}))<1e-9"


def _solve(spec: Spec) -> Solution:
    """The reference in the candidate's unit, then the difference with substituted values, which is zero or not."""
    if not spec["kind"]:
        return Solution(spec["label"])
    given = ",".join(POINT), ",".join(map(str, POINT.values()))
    start = "=".join(given) + ";" if spec["kind"] == ALGEBRA else ""
    calls = [("python", start + _difference(spec), str(near_zero(Pair(*_fields(spec)))))]
    if spec["kind"] == QUANTITY:
        asked = f"{spec['reference']} to {spec['candidate'].partition(' ')[2]}"
        calls.insert(0, ("convert", asked, compared(QUANTITY, spec["reference"], spec["candidate"])[0]))
    compact = "".join(f"[{name} {asked}]{reply}" for name, asked, reply in calls)
    natural = "".join(f"<{name}>{asked}</{name}>\n<result>{reply}</result>\n" for name, asked, reply in calls)
    return Solution(spec["label"], compact, natural)


def _fields(spec: Spec) -> tuple[str, str, str, str, bool]:
    return spec["kind"], spec["question"], spec["reference"], spec["candidate"], spec["label"] == CORRECT


# Verdicts


def _check(spec: Spec, text: str) -> Verdict:
    """The verdict on a verdict."""
    said = text.strip() if len(text) <= 32 else ""
    if said not in (CORRECT, INCORRECT):
        return Verdict.fail("format", f"expected {CORRECT} or {INCORRECT}")
    return Verdict.ok(said) if said == spec["label"] else Verdict.fail("wrong", answer=said)


def _read(spec: Spec, text: str) -> Verdict:
    return _check(spec, verdict_in(text) or "")


def _last(text: str, wording: Wording) -> str:
    """What stands behind the last reply, if it can be told from the text: in compact wording behind the last mark."""
    return text.rpartition(_LAST_REPLY)[2] if wording == "natural" else "#" + text.rpartition("#")[2]


def _verify_all(pairs: Sequence[tuple[Problem, str]]) -> list[Verdict]:
    return [_read(problem.spec, _last(text, problem.wording)) for problem, text in pairs]


def _judged(spec: Spec, text: str) -> Mapping[str, Verdict]:
    """The verdict of the last turn alone, so that what a tool printed is never taken for one."""
    return {"policy": _read(spec, text)}


def _verify_by_texts(pairs: Sequence[tuple[Problem, str]]) -> list[Verdict]:
    """The same by the second way to decide; of answers to other tasks their verifier has decided."""
    found = []
    for problem, text in pairs:
        kind, _, reference, candidate, right = _fields(problem.spec)
        holds = same(kind, reference, candidate) if kind else right
        label = CORRECT if holds else INCORRECT
        found.append(_read({"label": label}, _last(text, problem.wording)))
    return found


EQUIVALENCE = Task(
    name=NAME,
    domain="tools",
    summary=(
        "Say whether a candidate is equivalent to a reference answer, with Python and a conversion of units; the level "
        "is the depth of expressions, sums of fractions and units."
    ),
    generator=Generator(levels=range(1, 7), instance=_instance, canonical=_canonical),
    wordings=Wordings(compact=_compact, natural=_natural, solve=_solve),
    checker=Checker(check=_check, verify_many=_verify_all, second=_verify_by_texts),
    abilities=(OwnBase("references and candidates of depth 1 and 2", levels=(1, 2), num_steps=120, context=256),),
    world=interpreter(natural=TAGS, beside=(CONVERT,), judged=_judged),
)
