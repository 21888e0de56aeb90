"""Rows whose answers must follow instructions that code checks, in the form of IFEval's data (2311.07911).

{"prompt": "Write a poem. Use no commas.", "instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from assay.errors import DataError
from assay.types import Verdict
from assay.verifiers.instruction_types import plain_arguments
from assay.verifiers.instructions import fault_of, meets, meets_loosely
from assay.verifiers.judges.questions import without_thought

INSTRUCTIONS = "instruction_id_list"
ARGUMENTS = "kwargs"


def is_ruled(name: str, names: Sequence[str]) -> bool:
    """Whether a column, among all columns of a file, holds the ids of instructions, with their arguments beside it."""
    return name == INSTRUCTIONS and ARGUMENTS in names


def rules_of(columns: Mapping[str, Any]) -> str | None:
    """The rules of a row as a text of JSON; None if it has none. DataError says what is wrong with them.

    rules_of({"instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]})  # '[["punctuation:no_comma", {}]]'
    """
    names, given = columns.get(INSTRUCTIONS), columns.get(ARGUMENTS)
    if names in (None, []):
        return None
    if not isinstance(names, list) or not isinstance(given, list):
        raise DataError(f"'{INSTRUCTIONS}' and '{ARGUMENTS}' are lists")
    if len(names) != len(given):
        raise DataError(f"'{INSTRUCTIONS}' has {len(names)} entries, and '{ARGUMENTS}' has {len(given)}")
    rules = [[name, plain_arguments(arguments)] for name, arguments in zip(names, given, strict=True)]
    if fault := next((fault for rule in rules if (fault := fault_of(rule))), None):
        raise DataError(fault)
    return json.dumps(rules, sort_keys=True, ensure_ascii=False)


def followed(gold: str, text: str) -> Verdict:
    """The verdict on an answer, which is right if it follows all instructions by the strict criterion.

    Its scores are the share of instructions that it follows (`rules`), the same by the loose criterion (`rules-loose`),
    and whether it follows all of them by that one (`loose`).
    """
    rules, text = json.loads(gold), without_thought(text)
    strict = [meets(rule, text) for rule in rules]
    loose = [meets_loosely(rule, text) for rule in rules]
    scores = {"rules": sum(strict) / len(rules), "rules-loose": sum(loose) / len(rules), "loose": float(all(loose))}
    broken = ", ".join(rule[0] for rule, kept in zip(rules, strict, strict=True) if not kept)
    kind = "wrong" if text.strip() else "empty"
    if broken:
        return Verdict("fail", kind, f"does not follow {broken}"[:200], None, scores)
    return Verdict("ok", answer=text, scores=scores)
