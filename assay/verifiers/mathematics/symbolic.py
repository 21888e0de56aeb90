"""Comparison by the library Math-Verify, for pairs that our own layers leave undecided.
It runs in a worker process with a deadline, never in the trainer.

Decimals are rewritten as fractions first, because the library rounds floats to six decimals: 1.6e-19 would become 0.
"""

from __future__ import annotations

import logging
import re
from functools import lru_cache
from typing import Any

from assay.verifiers.mathematics.compare import Decision, compare

GOLD_ASKED, GOLD_READ = "gold asked", "gold read"


class BadGold(Exception):
    """The library finds no mathematics in the gold."""


def answer(job: dict[str, str]) -> dict[str, Any]:
    """The decision on a pair that exact arithmetic left undecided."""
    logging.disable(logging.CRITICAL)
    try:
        decision = compare(job["gold"], job["answer"], symbolic=Library())
    except BadGold:
        return {"bad_gold": True}
    except RecursionError:
        return {"equal": False, "layer": "symbolic", "why": "nested too deeply"}
    return {"equal": bool(decision.equal), "layer": decision.layer, "why": decision.why}


class Library:
    """Compares by Math-Verify."""

    def same(self, gold: str, answer: str) -> Decision:
        from math_verify import verify

        if _collide(gold + answer):
            return Decision(False, "symbolic", "letters that differ in case alone, which the library takes for one")
        wanted = parsed(_exact(gold))
        if wanted is None:
            raise BadGold
        given = parsed(_exact(answer))
        if given is None:
            return Decision(False, "symbolic", "no mathematics that could be read")
        equal = verify([wanted], [given], timeout_seconds=None, float_rounding=15, allow_set_relation_comp=True)
        return Decision(bool(equal), "symbolic", "by Math-Verify")


@lru_cache(maxsize=512)
def parsed(text: str) -> Any:
    """The library's reading of an expression, or None. Malformed expressions are not repaired."""
    from latex2sympy2_extended.latex2sympy2 import NormalizationConfig
    from math_verify import LatexExtractionConfig, parse

    mending = NormalizationConfig(
        basic_latex=True, units=False, malformed_operators=False, nits=False, boxed="last", equations=False
    )
    config = LatexExtractionConfig(
        try_extract_without_anchor=False, boxed_match_priority=0, normalization_config=mending
    )
    found = parse(f"\\boxed{{{text}}}", [config], fallback_mode="no_fallback", parsing_timeout=0)  # 0: none
    return _imaginary(found[0]) if found else None


def _imaginary(found: Any) -> Any:
    """The expression with the imaginary unit in place of the symbol `i`, which the library does not replace."""
    import sympy

    if not isinstance(found, sympy.Basic):
        return found
    return found.xreplace({symbol: sympy.I for symbol in found.free_symbols if symbol.name == "i"})  # type: ignore[attr-defined]


def _collide(text: str) -> bool:
    """Whether some letter occurs in upper and in lower case: the library may take both for one symbol."""
    letters = set(re.findall(r"[a-zA-Z]", re.sub(r"\\[a-zA-Z]+", " ", text)))
    return any(letter.swapcase() in letters for letter in letters)


def _exact(text: str) -> str:
    """The text with fractions for decimals, and a space before an `i` behind digits, as the library expects it."""
    text = re.sub(r"(?<=\d)i(?![a-zA-Z])", " i", text)
    return re.sub(r"(?<![\d.])(\d*)\.(\d+)(?![\d.])", _fraction, text)


def _fraction(match: re.Match[str]) -> str:
    return f"\\frac{{{int(match[1] + match[2])}}}{{{10 ** len(match[2])}}}"
