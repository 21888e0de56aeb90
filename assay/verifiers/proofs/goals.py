"""Goals of Coq in a line: `a:P;b:Q->R|-R +1` is the first goal with its hypotheses, and one more behind it."""

from __future__ import annotations

import re

_LINE = re.compile(r"\n(?=  \S)")
_CONCLUSION = re.compile(r"={5,}\s*\n(.*?)(?:\n\s*\n|\n?goal \d|\Z)", re.DOTALL)
_BEHIND = re.compile(r"goal \d+ \(ID \d+\) is:\s*\n(.*?)(?:\n\s*\n|\n?goal \d|\Z)", re.DOTALL)
_COUNT = re.compile(r"(\d+) (?:focused )?goals?\b")
_TIGHT = re.compile(r"\s*(<->|->|/\\|\\/|:=|[:=+*,~])\s*")


def in_short(printed: str) -> str:
    """The goals that a session prints; "" if it prints none. Hypotheses are in the order of their names, and those that
    only say which propositions there are are left out. Goals that no bullet has entered yet have no hypotheses.
    """
    count, behind, conclusion = _COUNT.search(printed), _BEHIND.search(printed), _CONCLUSION.search(printed)
    if count is None or (conclusion or behind) is None:
        return ""
    given = _hypotheses(printed[: conclusion.start()]) if conclusion else []
    goal = tight((conclusion or behind)[1])  # type: ignore[index]
    more = int(count[1]) - 1
    return f"{';'.join(given)}|-{goal}{f' +{more}' if more else ''}"


def _hypotheses(above: str) -> list[str]:
    """Each hypothesis that stands above a goal: Coq writes those of one type in a line."""
    single = []
    for line in map(tight, _LINE.split(above)[1:]):
        names, _, kind = line.partition(":")
        if line and kind != "Prop":
            single += [f"{name}:{kind}" for name in names.split(",")]
    return sorted(single, key=lambda one: one.partition(":")[0])


def tight(text: str) -> str:
    """The text in a line, without the spaces around operators."""
    return _TIGHT.sub(r"\1", " ".join(text.split()))
