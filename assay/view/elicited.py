"""The gain of a run over its untrained model with a few worked examples; answers of its exams side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.scoring.bank import Bank, difference, powers
from assay.view.judged import otherwise
from assay.view.text import change, score

EXAMPLES = "examples"  # the exam of the untrained model with worked examples before each question, as plain text
Json = dict[str, Any]


def beside_examples(evals: Sequence[Mapping[str, Any]], document: Mapping[str, Any]) -> Json | None:
    """The exam of the untrained model with worked examples before each question, how far the trained model is ahead of
    it, and the verdict in a sentence. None for a run without that exam.

    The verdict is elicitation unless the interval of the difference at one sample lies above zero: training that
    teaches no more than examples show has only brought out what the model knew. `document` is the run's run.json.
    """
    shown = next((entry for entry in evals if entry.get("set") == EXAMPLES), None)
    tests = [entry for entry in evals if entry.get("set") == "test"]
    if shown is None:
        return None
    result: Json = {"pass": shown["pass"], "ahead": None, "verdict": None}
    if len(tests) < 2 or "bank" not in shown or "bank" not in tests[-1] or otherwise(shown, tests[-1], document):
        return result
    base, trained = Bank.from_json(shown["bank"]), Bank.from_json(tests[-1]["bank"])
    least = min(int(bank.n[bank.n > 0].min()) for bank in (base, trained))
    ahead = difference(base, trained, powers(least))
    return {**result, "ahead": ahead, "verdict": _verdict(shown["pass"].get("1"), ahead["pass"].get("1"))}


def _verdict(shown: Any, ahead: Any) -> str | None:
    if not shown or not ahead:
        return None
    beyond = ahead["low"] is not None and ahead["low"] > 0
    told = f"untrained, with worked examples before each question, the model has {score(shown)} at one sample"
    if beyond:
        return f"More than elicitation: {told}, and the trained model, without them, is {change(ahead)} ahead."
    return f"Elicitation: {told}; the trained model, without them, does not beat that ({change(ahead)})."


def read_beside(evals: Sequence[Mapping[str, Any]]) -> list[Json]:
    """The first questions of the last exam, each with its answer before and after training and, if there was such an
    exam, with that of the untrained model with examples.
    """
    tests = [entry for entry in evals if entry.get("set") == "test" and entry.get("read")]
    if len(tests) < 2:
        return []
    exams = {"before": tests[0], "after": tests[-1]}
    if shown := next((entry for entry in evals if entry.get("set") == EXAMPLES and entry.get("read")), None):
        exams["examples"] = shown
    answers = {name: {row["problem"]: row for row in entry["read"]} for name, entry in exams.items()}
    return [
        {"question": row["question"], **{name: by_problem.get(row["problem"]) for name, by_problem in answers.items()}}
        for row in tests[0]["read"]
        if row["problem"] in answers["after"]
    ]
