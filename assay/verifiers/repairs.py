"""Repairs of small straight-line programs: verified by the results of the repaired program, and scored as patches.

A program is lines of the form `b=a+3`. Its input is x and its result the last variable. It is run here, on numbers.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Sequence

from assay.types import Verdict
from assay.verifiers.explained import Explained, bad_gold
from assay.verifiers.patches import Edit, applied, read_edits, similarity

INPUTS = range(10)
_FILE = "main"
_LINE = re.compile(r"([a-f])=([a-fx]|[0-9])([+*-])([a-fx]|[0-9])")
_LONGEST = 4000  # characters of an answer


def outputs(lines: Sequence[str]) -> list[int] | None:
    """The results for all inputs; None for lines that are no program."""
    read = [_LINE.fullmatch(line) for line in lines]
    if not read or len(read) > 8:
        return None
    results = []
    for x in INPUTS:
        known = {"x": x}
        for found in read:
            if found is None or any(name.isalpha() and name not in known for name in (found[2], found[4])):
                return None
            a, b = (known[name] if name.isalpha() else int(name) for name in (found[2], found[4]))
            known[found[1]] = a + b if found[3] == "+" else a - b if found[3] == "-" else a * b
        results.append(known[read[-1][1]] if read[-1] else 0)
    return results


def verdict_of(wrong: Sequence[str], right: Sequence[str], text: str) -> Verdict:
    """Whether the edits of an answer give a program with as many lines and the results of the right one.

    verdict_of(["a=x+1"], ["a=x+2"], "a=x+1>a=2+x")  # ok, and its likeness to the right change as the score `patch`
    """
    files, gold = {_FILE: "\n".join(wrong)}, {_FILE: "\n".join(right)}
    edits = _read(text)
    found = applied(files, edits) if edits else None
    if found is None:
        return dataclasses.replace(Verdict.fail("format", "no edit of a line of the program"), scores={"patch": -1.0})
    program = found[_FILE].split("\n")
    same = len(program) == len(wrong) and outputs(program) == outputs(right)
    answer = _noted(edits or [])
    verdict = Verdict.ok(answer) if same else Verdict.fail("wrong", "other results", answer)
    return dataclasses.replace(verdict, scores={"patch": similarity(files, found, gold, context=0)})


def _noted(edits: Sequence[Edit]) -> str:
    """Edits as an answer: `old>new` for one line, else SEARCH/REPLACE blocks."""
    first = edits[0]
    if len(edits) == 1 and "\n" not in first.search + first.replace:
        return f"{first.search}>{first.replace}"
    return "\n".join(f"### {e.path}\n<<<<<<< SEARCH\n{e.search}\n=======\n{e.replace}\n>>>>>>> REPLACE" for e in edits)


def _read(text: str) -> list[Edit] | None:
    """The edits of an answer: `old>new`, or SEARCH/REPLACE blocks."""
    if len(text) > _LONGEST:
        return None
    before, mark, after = text.strip().partition(">")
    if mark and "\n" not in text.strip() and "<" not in before:
        return [Edit(_FILE, before, after)]
    return read_edits(text)


def explain(pairs: Sequence[tuple[str, str]]) -> list[Explained]:
    """Each (reference, response) explained. A reference is {"wrong": [line, ...], "right": [line, ...]} as JSON.

    explain([('{"wrong": ["a=x+1"], "right": ["a=x+2"]}', "a=x+1>a=x+2")])
    """
    return [_explained(gold, response) for gold, response in pairs]


def _explained(reference: str, response: str) -> Explained:
    try:
        gold = json.loads(reference)
        wrong, right = gold["wrong"], gold["right"]
        fine = all(isinstance(one, list) and all(isinstance(line, str) for line in one) for one in (wrong, right))
    except (ValueError, RecursionError, TypeError, KeyError):
        wrong, right, fine = [], [], False
    if not fine or outputs(right) is None or len(wrong) != len(right):
        why = 'the reference is no JSON object {"wrong": [line, ...], "right": [line, ...]} of two programs'
        return bad_gold(why)
    verdict = verdict_of(wrong, right, response)
    why = (
        f"{verdict.detail or 'the results of the right program'}; likeness of the patches {verdict.scores['patch']:.3g}"
    )
    return Explained(verdict, "; ".join(right), verdict.answer, "", "results", why)
