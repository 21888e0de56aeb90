"""`assay data curate`: rows without held-out problems in other words, with answers that all solutions agree on."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from assay.errors import UsageError
from assay.policy.sentences import MULTILINGUAL, Sentences, nearest
from assay.reward.endpoint_judges import judge_scores, question_of
from assay.rng import Key
from assay.tasks.data.rows import plain_prompt
from assay.tasks.data.task import data, tables
from assay.types import Problem
from assay.verifiers.judges.endpoint import Endpoint
from assay.verifiers.judges.questions import JudgeScores, Question
from assay.verifiers.mathematics.against_gold import explain
from assay.verifiers.mathematics.writing import find

Json = dict[str, Any]
Embed = Callable[[Sequence[str]], np.ndarray]
LISTED = "solutions"  # the column with a list of solutions
NUMBERED = tuple(f"r1_solution_{number}" for number in (1, 2, 3))  # or these, as the published data has them


@dataclass(frozen=True)
class Rules:
    """The conditions on a row: `Rules(held_out=("exam.jsonl",), embedder="models/minilm", judge=True)`."""

    held_out: tuple[str, ...] = ()  # files of problems that must not be among the rows, in whatever words
    embedder: str = ""  # the sentence-embedding model that finds them
    judge: bool = False  # a judge decides about each of the nearest; else `alike` does
    alike: float = 0.9  # from this cosine on, two problems are the same
    neighbours: int = 5  # held-out problems that each row is compared with
    difficulty: float = 0.0  # the least, by the column `difficulty`; 0: any, also none
    solutions: int = 3  # that must agree, at least


def curate(places: Sequence[str], into: Path, rules: Rules, **reading: Any) -> Json:
    """Writes the rows that pass all stages, and says how many rows each stage dropped.

    found = curate(["raw.jsonl"], Path("kept.jsonl"), Rules(held_out=("exam.jsonl",), embedder="models/minilm"))
    print(text(found))
    """
    _require(into, rules)
    (table,) = tables(data(places, **reading).name)
    rows, listed = list(table.problems), []
    for stage, dropping in (("contaminated", contaminated), ("difficulty", too_easy), ("answers", not_unanimous)):
        dropped = dropping(rows, rules)
        listed += [{"row": rows[i].spec["row"], "stage": stage, "detail": why} for i, why in sorted(dropped.items())]
        rows = [row for i, row in enumerate(rows) if i not in dropped]
    lines = [json.dumps(_written(row, table.columns.prompt), ensure_ascii=False) for row in rows]
    if lines:
        into.write_text("\n".join(lines) + "\n", encoding="utf-8")
    stages = dict(Counter(entry["stage"] for entry in listed))
    counts = {"rows": len(table.problems), "written": len(rows), "into": str(into)}
    return {**counts, "stages": stages, "dropped": listed}


def _require(into: Path, rules: Rules) -> None:
    if into.exists():
        raise UsageError(f"{into} exists already: name a new file with --into.")
    if not 0 < rules.alike <= 1 or not math.isfinite(rules.difficulty):
        raise UsageError(f"--alike is a cosine above 0 and at most 1, not {rules.alike}; --difficulty is a number.")
    if not rules.held_out and (rules.embedder or rules.judge):
        raise UsageError("--embedder and --judge look for held-out problems: name their file with --eval-data.")


def contaminated(rows: Sequence[Problem], rules: Rules, *, embed: Embed | None = None) -> dict[int, str]:
    """The rows that repeat a held-out problem: the index of each, and the reason.

    A row is compared with its nearest held-out problems by the cosine of their vectors. The judge is asked about each
    of these pairs, and one yes drops the row. A pair that the judge does not decide counts as a yes.
    """
    if not rules.held_out:
        return {}
    if embed is None and not rules.embedder:
        raise UsageError(
            "held-out problems are found by a sentence-embedding model: name one with --embedder, such as "
            f"{MULTILINGUAL}."
        )
    held = list(tables(data(rules.held_out).name)[0].problems)
    by_prompt = {plain_prompt(problem): problem for problem in held}
    repeats = {
        i: f"row {by_prompt[text].spec['row']}"
        for i, row in enumerate(rows)
        if (text := plain_prompt(row)) in by_prompt
    }
    open_rows = [i for i in range(len(rows)) if i not in repeats]
    embed = embed or Sentences(rules.embedder)
    texts, theirs = [question_of(rows[i]) for i in open_rows], [question_of(problem) for problem in held]
    places, cosines = nearest(embed(texts), embed(theirs), rules.neighbours)
    pairs = [(at, int(neighbour)) for at in range(len(open_rows)) for neighbour in places[at]]
    if rules.judge:
        questions = [Question("same", theirs[neighbour], (texts[at],)) for at, neighbour in pairs]
        replies = judge_scores(Endpoint(), questions, Key("curate"))
        reasons = [
            "" if isinstance(reply, JudgeScores) else f", which the judge did not decide ({reply.kind})"
            for reply in replies
        ]
        same = [reply.values[0] == 1.0 if isinstance(reply, JudgeScores) else True for reply in replies]
    else:
        same = (cosines.ravel() >= rules.alike).tolist()
        reasons = [f", at a cosine of {cosine:.3f}" for cosine in cosines.ravel()]
    for (at, neighbour), yes, reason in zip(pairs, same, reasons, strict=True):
        if yes:
            repeats.setdefault(open_rows[at], f"row {held[neighbour].spec['row']}{reason}")
    return repeats


def too_easy(rows: Sequence[Problem], rules: Rules) -> dict[int, str]:
    """The rows whose `difficulty`, a number or the mean of a list of numbers, is below the least."""
    found: dict[int, str] = {}
    for i, row in enumerate(rows if rules.difficulty else ()):
        said = row.spec["columns"].get("difficulty")
        ratings = said if isinstance(said, list) else [said]
        if not ratings or not all(isinstance(one, int | float) for one in ratings):
            found[i] = f"no number in 'difficulty': {str(said)[:40]}"
        elif (mean := sum(ratings) / len(ratings)) < rules.difficulty:
            found[i] = f"{mean:g} is below {rules.difficulty:g}"
    return found


def not_unanimous(rows: Sequence[Problem], rules: Rules) -> dict[int, str]:
    """The rows whose solutions, and reference answer if there is one, do not all have one answer.

    Answers are compared by the verifier of mathematics, each with each and in both directions: it must accept every one
    of them with every other as the gold.
    """
    stated = [answers_of(row) for row in rows]
    short = [sum(answer is not None for answer in solved) < rules.solutions or None in solved for _, solved in stated]
    answers = [
        list(dict.fromkeys(answer for answer in (gold, *solved) if answer is not None)) for gold, solved in stated
    ]
    pairs = [[(answer, other) for answer in texts for other in texts] for texts in answers]
    asked = list(dict.fromkeys(pair for few, some in zip(short, pairs, strict=True) if not few for pair in some))
    explained = explain([(gold, f"\\boxed{{{answer}}}") for gold, answer in asked])
    verdicts = {pair: explanation.verdict for pair, explanation in zip(asked, explained, strict=True)}
    reasons: dict[int, str] = {}
    for i, (few, some) in enumerate(zip(short, pairs, strict=True)):
        if few:
            reasons[i] = f"fewer than {rules.solutions} solutions, or one without a marked answer"
        elif bad := [pair for pair in some if verdicts[pair].status != "ok"]:
            kind = "cannot be compared" if verdicts[bad[0]].status == "invalid" else "disagree"
            reasons[i] = f"{bad[0][0][:40]!r} and {bad[0][1][:40]!r} {kind}"
    return reasons


def answers_of(row: Problem) -> tuple[str | None, list[str | None]]:
    """(the reference answer, the final answer of each solution); None where there is none."""
    found = [find(text) for text in solutions_of(row.spec["columns"])]
    return row.spec["gold"], [(one.text or None) if one.mark != "whole" else None for one in found]


def solutions_of(columns: Mapping[str, Any]) -> list[str]:
    """The solutions of a row: those of a list, or of numbered columns."""
    listed = columns.get(LISTED)
    if listed is None:
        listed = [columns[name] for name in NUMBERED if columns.get(name)]
    return [text for text in listed if isinstance(text, str)] if isinstance(listed, list) else []


def _written(row: Problem, question: str) -> Json:
    columns = {name: value for name, value in row.spec["columns"].items() if name not in (question, "prompt")}
    gold, solved = answers_of(row)
    answer = {"final_answer": gold if gold is not None else solved[0], "solution": solutions_of(columns)[0]}
    return {"prompt": row.prompt, **columns, **answer}


def text(found: Mapping[str, Any]) -> str:
    """The findings as lines for a person: what each stage left."""
    left = found["rows"]
    lines = [f"{left} rows"]
    for stage in ("contaminated", "difficulty", "answers"):
        left -= found["stages"].get(stage, 0)
        lines.append(f"  {left} ({left / found['rows']:.1%}) left by '{stage}'")
    lines += [f"  {one['row']}: {one['stage']}, {one['detail']}" for one in found["dropped"][:10]]
    return "\n".join([*lines, f"written to {found['into']}" if found["written"] else "nothing was written"])
