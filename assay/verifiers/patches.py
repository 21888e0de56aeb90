"""Patches: edits of files as SEARCH/REPLACE blocks, applied to text, and compared with a reference change (SWE-RL).

Nothing is executed. A patch is worth the similarity of its diff and the diff of the reference (2502.18449).
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.types import Verdict
from assay.verifiers.explained import Explained, bad_gold

LARGEST = 200_000  # characters of an answer
MOST = 50  # edits, and places that one edit changes
SLOW = 2_000  # characters of a diff; longer ones are compared line by line, because the time grows with the square
_FILE, _SEARCH, _MIDDLE, _REPLACE = "### ", "<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE"

Files = Mapping[str, str]


@dataclass(frozen=True)
class Edit:
    """Lines of a file that other lines replace: `Edit("main", "b=a+2", "b=a+3")`."""

    path: str
    search: str
    replace: str


def read_edits(text: str) -> list[Edit] | None:
    """The edits of an answer, each a line `### path` and a SEARCH/REPLACE block; None if a block is not well formed."""
    if len(text) > LARGEST:
        return None
    edits: list[Edit] = []
    path, state, search, replace = "", "", list[str](), list[str]()
    for line in lines_of(text):
        plain = line.rstrip()
        if state == "" and plain.startswith(_FILE):
            path = plain.removeprefix(_FILE).strip()
        elif state == "" and plain == _SEARCH and path:
            state, search, replace = "search", [], []
        elif state == "search" and plain == _MIDDLE:
            state = "replace"
        elif state == "replace" and plain == _REPLACE:
            edits.append(Edit(path, "\n".join(search), "\n".join(replace)))
            state = ""
        elif state:
            (search if state == "search" else replace).append(line)
        elif plain and not plain.startswith("```"):
            return None
    return edits if edits and not state and len(edits) <= MOST else None


def lines_of(text: str) -> list[str]:
    """The lines of a text. Only a line feed ends one, with or without a carriage return: not what Unicode adds to them,
    because a file with such a sign is another file.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def applied(files: Files, edits: Sequence[Edit]) -> dict[str, str] | None:
    """The files after all edits; None if one changes nothing, too much, or lines that its file does not have."""
    result = dict(files)
    for edit in edits:
        before = result.get(edit.path)
        if before is None or edit.search == edit.replace or not edit.search.strip():
            return None
        whole, lines = f"\n{before}\n", f"\n{edit.search}\n"
        if not 0 < whole.count(lines) <= MOST:
            return None
        after = whole.replace(lines, f"\n{edit.replace}\n")[1:-1]
        result[edit.path] = after
    return result


def similarity(files: Files, found: Files, gold: Files, *, context: int = 3) -> float:
    """The mean over the files that either side changes of the Ratcliff-Obershelp ratio of the two diffs.

    A file that only one side changes counts 0. With `context` 0 only changed lines are compared: short diffs share most
    of their context, so that any change of the right file would be worth much.
    """
    paths = [p for p in dict.fromkeys((*files, *found, *gold)) if not files.get(p) == found.get(p) == gold.get(p)]
    ratios = []
    for path in paths:
        ours, theirs = (diff(files.get(path, ""), side.get(path, ""), context) for side in (found, gold))
        ratios.append(_ratio(ours, theirs) if ours and theirs else 0.0)
    return sum(ratios) / len(ratios) if ratios else 1.0


def diff(before: str, after: str, context: int) -> str:
    """The unified diff without the names of the files; without context also without places."""
    lines = list(difflib.unified_diff(lines_of(before), lines_of(after), lineterm="", n=context))[2:]
    return "\n".join(line for line in lines if context or not line.startswith("@@"))


def _ratio(one: str, other: str) -> float:
    if max(len(one), len(other)) > SLOW:
        return difflib.SequenceMatcher(None, lines_of(one), lines_of(other), autojunk=False).ratio()
    return difflib.SequenceMatcher(None, one, other, autojunk=False).ratio()


def explain(pairs: Sequence[tuple[str, str]]) -> list[Explained]:
    """Each (reference, response) explained: whether the edits of the response make the files of the reference.

    explain([('{"before": {"main": "a"}, "after": {"main": "b"}}', "### main\\n<<<<<<< SEARCH\\na\\n...")])
    """
    return [_explained(gold, response) for gold, response in pairs]


def _explained(reference: str, response: str) -> Explained:
    files = _files_of(reference)
    if files is None:
        why = 'the reference is no JSON object {"before": {path: text}, "after": {path: text}}'
        return bad_gold(why)
    before, after = files
    edits = read_edits(response)
    found = applied(before, edits) if edits else None
    if edits is None or found is None:
        why = "no SEARCH/REPLACE blocks" if edits is None else "an edit does not apply to its file"
        return Explained(Verdict.fail("format", why), None, None, "", "blocks", why)
    verdict = Verdict.ok() if found == after else Verdict.fail("wrong", "other files")
    why = f"likeness of the diffs {similarity(before, found, after):.3g}"
    gold = "\n".join(diff(before[path], after[path], 0) for path in before if before[path] != after[path])
    return Explained(verdict, gold, "\n".join(edit.replace for edit in edits), "SEARCH/REPLACE blocks", "files", why)


def _files_of(reference: str) -> tuple[Files, Files] | None:
    try:
        gold = json.loads(reference)
        before, after = gold["before"], gold["after"]
    except (ValueError, RecursionError, TypeError, KeyError):
        return None
    sides = [isinstance(one, dict) and all(isinstance(text, str) for text in one.values()) for one in (before, after)]
    return (before, after) if all(sides) and before.keys() == after.keys() and before != after else None
