"""Theorems in Metamath, proved with the stack in view: labels are appended to a row, and the reply is what it says.

The theorems are those of the task `metamath`. The stack steers alone: the whole row is verified afterwards by both
kernels, as answers to `metamath` are.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from assay.externals.metamath import METAMATH as PROGRAM
from assay.tasks import metamath
from assay.tasks.abilities import OwnBase
from assay.tasks.task import Checker, Solution, Spec, Task, Wordings
from assay.types import Problem, Verdict
from assay.verifiers.answers import find_answer
from assay.verifiers.proofs.completion import MOST_LABELS, completed, stacked
from assay.verifiers.proofs.database import Symbols
from assay.verifiers.proofs.kernel import Refused
from assay.verifiers.proofs.metamath import Claim, base, labels_of, theorem, verify
from assay.worlds.enclosed import Enclosed, refused
from assay.worlds.tools import Scene, ToolError, takes_text, tools

SPEECH = Enclosed("]")
MOST_CALLS = 200  # of a play
_LONGEST = 120  # characters of a stack in a reply


def _append(scene: Scene, labels: str) -> str:
    """The stack behind these labels, which are added to the row if they fit."""
    scene.over = scene.calls >= MOST_CALLS
    further = labels_of(labels[: 4 * MOST_LABELS])
    if not further:
        raise ToolError("no label")
    row = [*scene.state.get("row", []), *further]
    stated = theorem(scene.spec["hypotheses"], scene.spec["goal"])
    try:
        stack = stacked(base(), stated, row)
    except Refused as refusal:
        raise ToolError(str(refusal)) from None
    scene.state["row"] = row
    if len(stack) == 1:
        scene.over |= _proves(scene.spec, row)
    return _shown(stack)


def _proves(spec: Spec, row: Sequence[str]) -> bool:
    try:
        completed(base(), theorem(spec["hypotheses"], spec["goal"]), row)
    except Refused:
        return False
    return True


def _shown(stack: Sequence[Symbols]) -> str:
    """The formulas of a stack in a line, the last ones if it is long."""
    text = ",".join("".join(formula) for formula in stack)
    return text if len(text) <= _LONGEST else f"..{text[2 - _LONGEST :]}"


def row_of(text: str) -> str:
    """The row of labels that was accepted in an answer; a text without calls is a row itself."""
    calls = list(SPEECH.inputs(text))
    accepted = [label for labels, failed in calls if not failed for label in labels_of(labels)]
    return " ".join(accepted) if calls else text


def _solve(spec: Spec) -> Solution:
    """A call for each rule, with the hypotheses that are put before it, until the goal is proved: formulas that nothing
    decides yet may make it so before the row of the problem is at its end.
    """
    stated, row, calls, begin = theorem(spec["hypotheses"], spec["goal"]), spec["witness"], "", 0
    for end, label in enumerate(row, 1):
        if label in base().assertions:
            stack = stacked(base(), stated, row[:end])
            calls, begin = f"{calls}[{row[begin:end]}]", end
            if len(stack) == 1 and _proves(spec, row[:end]):
                break
            calls += _shown(stack)
    return Solution(calls)


def _natural(spec: Spec) -> str:
    rules, _, _ = metamath.METAMATH.wordings.natural(spec).partition(" A proof is a row of labels")
    return (
        f"{rules} A proof is a row of labels, read from left to right: a hypothesis is put on a stack, and a rule "
        "takes its premises from the stack, in the order in which they are listed above, and puts its conclusion "
        "there. At the end the stack holds the goal alone. Leave out Metamath's steps of syntax. Write the next labels "
        "in square brackets, like [ABm]: the reply follows at once, and is the stack behind them, or ! and an error, "
        "in which case nothing is added. A row that needs no replies may stand in \\boxed{...} instead."
    )


def _rows(pairs: Sequence[tuple[Problem, str]]) -> list[tuple[Problem, str]]:
    """The pairs as answers to the task `metamath`."""
    return [(dataclasses.replace(problem, wording="compact"), _row(problem, text)) for problem, text in pairs]


def _row(problem: Problem, text: str) -> str:
    if any(True for _ in SPEECH.inputs(text)):
        return row_of(text)
    return find_answer(text, problem.wording) or ""


def _verify_all(pairs: Sequence[tuple[Problem, str]]) -> list[Verdict]:
    return metamath.verify_all(_rows(pairs))


def _verify_renamed(pairs: Sequence[tuple[Problem, str]]) -> list[Verdict]:
    return metamath.judge_renamed(_rows(pairs))


def _check(spec: Spec, text: str) -> Verdict:
    return verify([Claim.of(spec, row_of(text))])[0].verdict


METAMATH_STEPS = Task(
    name="metamath-steps",
    domain="proofs",
    summary="Prove a theorem in Metamath with the stack in view; the level is the number of rules in a proof.",
    generator=metamath.METAMATH.generator,
    wordings=Wordings(
        compact=lambda spec: f"h{metamath.METAMATH.wordings.compact(spec)[1:]}", natural=_natural, solve=_solve
    ),
    checker=Checker(
        check=_check,
        verify_many=_verify_all,
        second=_verify_renamed,
        externals=("metamath",),
        seconds=PROGRAM.deadline,
    ),
    abilities=(
        OwnBase("proofs of one rule in Metamath, by steps", levels=(1,), num_steps=17, context=128, hidden=160),
    ),
    world=tools((takes_text("append", "labels"), _append), speech=SPEECH, explain=refused),
)
