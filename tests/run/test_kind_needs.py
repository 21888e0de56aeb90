"""What parts need of a policy: every part that reads words says so."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

from assay.known import SLOTS
from assay.part import Part, needed
from assay.policy.kinds import ABILITIES

FIELDS = {"text", "prompt", "hints"}
CALLED = {"find_answer", "count_answers", "before_answer", "chain_of", "holds_answer"}
"""Names by which a function reads what was asked or written as words."""
ANY_KIND = {
    "ask:demonstrate": "solutions are encoded by the codec of whichever kind",
    "ask:expert": "likewise",
    "collect:fragments": "actions are decoded by the codec of whichever kind",
}
"""Parts that ask for the codec and work with actions of any kind, and why."""


PARTS = {
    f"{slot}:{name}": part for slot, parts in SLOTS.items() for name, part in parts.items() if hasattr(part, "does")
}


def reads(part: type[Part]) -> set[str]:
    """These names in the function of a part and in those of its module that it calls."""
    tree = ast.parse(Path(inspect.getfile(part.does)).read_text())
    known = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    todo, seen, said = [part.does.__name__], set[str](), set[str]()
    while todo:
        name = todo.pop()
        if name in seen or name not in known:
            continue
        seen.add(name)
        for node in ast.walk(known[name]):
            if isinstance(node, ast.Attribute):
                said |= {node.attr} & FIELDS
            if isinstance(node, ast.Name):
                said |= {node.id} & CALLED
                todo.append(node.id)
    return said


@pytest.mark.slow
def test_every_part_that_reads_words_needs_a_policy_that_has_them() -> None:
    reading = {name for name, part in PARTS.items() if reads(part)}
    assert len(reading) > 50 and not {name for name in reading if not needed(PARTS[name])}


def test_parts_that_ask_for_the_codec_and_need_no_words_say_why() -> None:
    asking = {name for name, part in PARTS.items() if "codec" in inspect.signature(part.does).parameters}
    assert {name for name in asking if not needed(PARTS[name])} == ANY_KIND.keys()


def test_what_parts_need_is_an_ability_that_there_is() -> None:
    for parts in SLOTS.values():
        for part in parts.values():
            assert set(needed(part)) <= ABILITIES.keys()
