"""Constraints on a text that code can check: lengths, counts, what it includes, how it begins and ends, its form.

A rule is plain data: a kind and its arguments, as in ["words-at-most", 50] or ["count", "a", 2], or one of IFEval with
its arguments by name (`instruction_types`). All checks take a time
that grows with the length of the text, and none runs a pattern of the data.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from assay.types import Verdict
from assay.verifiers.counts import SAYS, is_json, sentences
from assay.verifiers.explained import Explained, bad_gold
from assay.verifiers.instruction_types import TYPES, fault_of_type, follows, variants

LARGEST = 200_000  # characters of a text; a longer one meets no rule
Rule = Sequence[Any]

_BLANK = re.compile(r"\n[^\S\n]*\n")
_BULLET = re.compile(r"[-*] ")


def _words(text: str) -> int:
    return sum(bool(SAYS.search(word)) for word in text.split())


def _paragraphs(text: str) -> int:
    return sum(bool(SAYS.search(block)) for block in _BLANK.split(text.replace("\r\n", "\n")))


def _bullets(text: str) -> int:
    lines = (line.lstrip() for line in text.splitlines())
    return sum(bool(_BULLET.match(line) and SAYS.search(line)) for line in lines)


CHECKS: Mapping[str, tuple[tuple[type, ...], Callable[..., bool]]] = {
    "length": ((int,), lambda text, n: len(text) == n),
    "length-at-most": ((int,), lambda text, n: len(text) <= n),
    "words": ((int,), lambda text, n: _words(text) == n),
    "words-at-least": ((int,), lambda text, n: _words(text) >= n),
    "words-at-most": ((int,), lambda text, n: _words(text) <= n),
    "sentences": ((int,), lambda text, n: sentences(text) == n),
    "paragraphs": ((int,), lambda text, n: _paragraphs(text) == n),
    "bullets": ((int,), lambda text, n: _bullets(text) == n),
    "count": ((str, int), lambda text, part, n: text.count(part) == n),
    "count-at-least": ((str, int), lambda text, part, n: text.count(part) >= n),
    "with": ((str,), lambda text, part: part in text),
    "without": ((str,), lambda text, part: part not in text),
    "starts": ((str,), lambda text, part: text.startswith(part) or text.lstrip().startswith(part)),
    "ends": ((str,), lambda text, part: text.endswith(part) or text.rstrip().endswith(part)),
    "lowercase": ((), lambda text: text.upper() != text == text.lower()),
    "uppercase": ((), lambda text: text.lower() != text == text.upper()),
    "palindrome": ((), lambda text: text == text[::-1]),
    "json": ((), is_json),
}
"""Kind of a rule -> the types of its arguments, and the check of a text that is not empty.

Words, sentences, paragraphs and bullets count only if they have a letter or a digit: else a row of stops or dashes
would be a long text. A text in which no letter has a case, such as "12 34", is neither in capitals nor in lower case:
else one text could be both.
"""


def fault_of(rule: Any) -> str | None:
    """The fault of a rule in somebody's data; None if the rule can be checked."""
    if isinstance(rule, (list, tuple)) and rule and isinstance(rule[0], str) and rule[0] in TYPES:
        return fault_of_type(rule[0], rule[1] if len(rule) == 2 else {} if len(rule) == 1 else rule[1:])
    if not isinstance(rule, (list, tuple)) or not rule or not isinstance(rule[0], str) or rule[0] not in CHECKS:
        return f"a rule is a list that begins with one of {', '.join(CHECKS)}, not {str(rule)[:80]}"
    types, _ = CHECKS[rule[0]]
    wrong = len(rule) - 1 != len(types) or any(
        not isinstance(value, kind) or isinstance(value, bool) for value, kind in zip(rule[1:], types, strict=False)
    )
    if wrong or "" in rule[1:]:
        said = ", ".join("a text" if kind is str else "a whole number" for kind in types) or "nothing"
        return f"the rule '{rule[0]}' takes {said}, not {str(rule[1:])[:80]}"
    return None


def meets(rule: Rule, text: str) -> bool:
    """Whether a text meets a rule. An empty text meets none: it would meet most bounds from above.

    meets(["words-at-most", 3], "two words")  # True
    """
    if not text.strip() or len(text) > LARGEST:
        return False
    kind, *arguments = rule
    if kind in TYPES:
        return follows(kind, arguments[0] if arguments else {}, text)
    return CHECKS[kind][1](text, *arguments)


def meets_loosely(rule: Rule, text: str) -> bool:
    """Whether a text meets a rule by IFEval's loose criterion: as it is, or without what often stands around an answer,
    its first or last line, and the stars of markdown.

    meets_loosely(["startend:quotation"], 'Sure:\n"Yes."')  # True
    """
    return len(text) <= LARGEST and any(meets(rule, one) for one in variants(text))


def share(rules: Sequence[Rule], text: str) -> float:
    """The share of rules that a text meets; 1 without rules."""
    return sum(meets(rule, text) for rule in rules) / len(rules) if rules else 1.0


def explain(pairs: Sequence[tuple[str, str]]) -> list[Explained]:
    """Each (rules, response) explained. Rules are a list as JSON; a response is right if it meets all of them.

    explain([('[["words-at-most", 3], ["lowercase"]]', "two words")])
    """
    return [_explained(gold, response) for gold, response in pairs]


def _explained(reference: str, response: str) -> Explained:
    try:
        rules = json.loads(reference)
    except (ValueError, RecursionError):
        rules = None
    fault = "the reference is no JSON list of rules" if not isinstance(rules, list) or not rules else None
    fault = fault or next((rule_fault for rule in rules or () if (rule_fault := fault_of(rule))), None)
    if fault:
        return bad_gold(fault)
    broken = [rule for rule in rules or () if not meets(rule, response)]
    if not response.strip():
        return Explained(Verdict.fail("empty", "no text"), reference, response, "", "rules", "an empty text")
    if broken:
        why = f"breaks {', '.join(json.dumps(rule) for rule in broken)}"
        return Explained(Verdict.fail("wrong", why), reference, response, "", "rules", why)
    return Explained(Verdict.ok(response), reference, response, "", "rules", "all rules are met")
