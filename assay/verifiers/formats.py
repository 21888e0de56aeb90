"""Strict formats of a response: a thought and an answer, each marked once, in this order, and nothing else.

In natural wording the marks are <think> </think> <answer> </answer>, and the answer has one \\boxed{}. In compact
wording they are the marks of the problem's worked solution: `steps#answer`, or the answer alone. A mark counts in
whatever case and width it is written, and with spaces or unseen characters within it, so that a second one cannot be
hidden.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from assay.types import Verdict
from assay.verifiers.answers import Wording, find_answer
from assay.verifiers.explained import Explained, bad_gold

TAGS = ("<think>", "</think>", "<answer>", "</answer>")
LONGEST = 1_000_000  # characters of a response; a longer one has no format


@dataclass(frozen=True)
class Formed:
    """A response in its parts: `Formed("3+4 is 7", "7")`."""

    thought: str
    answer: str


def formed(text: str, wording: Wording, *, steps: bool = True, opened: bool = False) -> Formed | None:
    """The parts of a response; None if its format is not exactly right. `steps` says that a compact answer stands
    behind steps, `opened` that the prompt ends with the mark that begins the thought.

        formed("<think>3+4=7</think> <answer>\\\\boxed{7}</answer>", "natural")  # Formed("3+4=7", "\\\\boxed{7}")
    """
    if len(text) > LONGEST:
        return None
    return _compact(text, steps) if wording == "compact" else _tagged(TAGS[0] * opened + text)


def _compact(text: str, steps: bool) -> Formed | None:
    thought, mark, answer = text.rpartition("#")
    if "#" in thought or bool(mark) != steps or not answer.strip() or (steps and not thought.strip()):
        return None
    return Formed(thought.strip(), answer.strip())


def _seen(text: str) -> str:
    """The text as a mark in it would be read: without spaces, accents and characters of no width, in small letters."""
    kept = (one for one in unicodedata.normalize("NFKD", text) if not one.isspace())
    return "".join(one for one in kept if unicodedata.category(one) not in ("Cf", "Mn")).casefold()


def _tagged(text: str) -> Formed | None:
    plain = _seen(text)
    if any(text.count(tag) != 1 or plain.count(tag) != 1 for tag in TAGS):
        return None
    places = [text.index(tag) for tag in TAGS]
    if places != sorted(places):
        return None
    before, rest = text.split(TAGS[0])
    thought, rest = rest.split(TAGS[1])
    between, rest = rest.split(TAGS[2])
    answer, after = rest.split(TAGS[3])
    if before.strip() or between.strip() or after.strip() or not thought.strip():
        return None
    if answer.count("\\boxed") != 1 or not find_answer(answer, "natural"):
        return None
    return Formed(thought.strip(), answer.strip())


KINDS: dict[str, tuple[Wording, bool, bool]] = {
    "natural": ("natural", True, False),
    "opened": ("natural", True, True),
    "steps": ("compact", True, False),
    "bare": ("compact", False, False),
}
"""Format -> wording, whether there are steps, whether the prompt has begun the thought."""


def explain(pairs: Sequence[tuple[str, str]]) -> list[Explained]:
    """Each (name of a format in `KINDS`, response) explained: `explain([("steps", "3+4=7#7")])`."""
    return [_explained(kind, response) for kind, response in pairs]


def _explained(kind: str, response: str) -> Explained:
    if kind not in KINDS:
        why = f"a format is one of {', '.join(KINDS)}, not {kind[:80]!r}"
        return bad_gold(why)
    wording, steps, opened = KINDS[kind]
    found = formed(response, wording, steps=steps, opened=opened)
    if found is None:
        why = "the thought and the answer do not stand once each, in this order, with nothing else"
        return Explained(Verdict.fail("format", why), kind, None, "", "format", why)
    return Explained(
        Verdict.ok(found.answer), kind, found.answer, "", "format", "thought and answer stand as they should"
    )
