"""Names on one side of a relation: `x`, `f(x)`, `\\angle ABC`, `(p, q)`."""

from __future__ import annotations

import re

from assay.verifiers.mathematics import words
from assay.verifiers.mathematics.structure import enclosed, encloses

_NAME = re.compile(
    r"""(?:m\s*\\angle|\\angle|\\triangle|[a-zA-Z]|\\(?:alpha|beta|gamma|delta|epsilon|theta|lambda|mu|phi|varphi|omega|rho|
    sigma|tau|Delta|Omega|ell|vec|overline|overrightarrow|bar|hat|text|mathbf|mathcal|cos|sin|tan|log|ln|circ|det|deg)
    (?![a-zA-Z])|_\s*(?:\w|\{[^{}]*\})|\^\s*\{?\s*-1\s*\}?|'|\{[a-zA-Z0-9 ,.:'-]*\}|\s|:|\|)+""",
    re.VERBOSE,
)
_SPOKEN = re.compile(r"\\text\s*\{([^{}]*)\}|(?<!\\)\b([a-z]+)\b")  # NO is a line from N to O
_ARGUMENTS = re.compile(r"^(?P<head>.*[\w}'])\s*\((?P<arguments>[^()]{1,40})\)$", re.DOTALL)


def is_name(side: str) -> bool:
    """Whether one side of a relation is a name, not a value: `x`, `f(x)`, `\\angle ABC`, `(p, q)`, `V_1 : V_2`."""
    side = side.strip()
    if fraction := re.fullmatch(r"\\frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}", side):
        return is_name(fraction[1]) and is_name(fraction[2])
    if side.startswith("(") and encloses(side):
        return all(is_name(part) for part in enclosed(side[1:-1]))
    if match := _ARGUMENTS.match(side):
        side = match["head"]
    spoken = [text or word for text, word in _SPOKEN.findall(side)]
    if words.denied(" ".join(spoken)):
        return False
    return 0 < len(side) <= 80 and _NAME.fullmatch(side) is not None and re.fullmatch(r"\W*(?:e|i)\W*", side) is None


def name_of(side: str) -> tuple[str, str]:
    """(the name, its arguments): ("f", "x") for `f(x)`."""
    match = _ARGUMENTS.match(side.strip())
    squeezed = re.sub(r"[\s{}]|\\text", "", match["head"] if match else side)
    return squeezed, re.sub(r"\s", "", match["arguments"]) if match else ""
