"""The rules for the text of a circuit. System tasks, macros and the like are refused before a program reads them."""

from __future__ import annotations

import re

MOST_CHARACTERS = 20_000
DEEPEST = 200  # brackets in brackets
_FUNCTIONS = frozenset({"$signed", "$unsigned", "$clog2", "$bits"})
_WORDS = {
    *("initial", "final", "bind", "import", "export", "config", "library", "program", "checker", "rand", "randc"),
    *("assume", "assert", "restrict", "cover", "expect", "force", "release", "deassign", "specify", "primitive"),
    *("event", "wait", "fork", "join", "disable", "tri", "wand", "wor", "trireg", "supply0", "supply1", "pullup"),
    *("pulldown", "real", "realtime", "time", "string", "class", "virtual", "interface", "package", "defparam"),
    "inout",  # codespell:ignore inout
}
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_SYSTEM = re.compile(r"\$\w*")
_WORD = re.compile(r"[A-Za-z_][\w$]*")
_ATTRIBUTE = re.compile(r"\(\*(?!\s*\))")
_FENCE = re.compile(r"```(?:verilog|systemverilog|v|sv)\s*\n(.*?)```", re.DOTALL | re.IGNORECASE)


def fenced(text: str) -> str | None:
    """The last code block of Verilog in a response; None if there is none."""
    blocks = _FENCE.findall(text)
    return blocks[-1] if blocks else None


def refusal(text: str) -> tuple[str, str] | None:
    """(the kind of the verdict, why) if the text is refused as it stands; None if the programs may read it."""
    if not text.strip():
        return "empty", ""
    if len(text) > MOST_CHARACTERS:
        return "long", f"longer than {MOST_CHARACTERS} characters"
    odd = next((c for c in text if not (c.isascii() and (c.isprintable() or c in "\n\t\r"))), None)
    if odd is not None:
        return "format", f"the character U+{ord(odd):04X} stands in no circuit"
    if _depth(text) > DEEPEST:
        return "format", f"brackets are nested more than {DEEPEST} deep"
    if '"' in text or "\\" in text or "`" in text:
        return "forbidden", "texts in quotes, names with a backslash and macros are not allowed"
    bare = _COMMENT.sub(" ", text)
    if _ATTRIBUTE.search(bare):
        return "forbidden", "attributes '(* ... *)' are not allowed"
    if "#" in bare.replace("#(", "").replace("# (", ""):
        return "forbidden", "delays are not allowed"
    for call in _SYSTEM.findall(bare):
        if call not in _FUNCTIONS:
            return "forbidden", f"'{call}' is not allowed; of the system functions {', '.join(sorted(_FUNCTIONS))} are"
    word = next((word for word in _WORD.findall(bare) if word in _WORDS), None)
    if word is not None:
        return "forbidden", f"'{word}' is not allowed in a circuit"
    return None


def _depth(text: str) -> int:
    depth = deepest = 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        deepest = max(deepest, depth)
    return deepest
