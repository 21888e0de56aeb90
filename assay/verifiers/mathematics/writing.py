"""How answers are written: finds the answer in a response, and rewrites its many notations to one.

These functions take time linear in the length of the text, and evaluate nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from assay.verifiers.mathematics.conclusions import concluded

SEEN = 200_000  # characters at the end of a response that are searched
LONGEST = 2_000  # characters of an answer that is read; longer answers are compared character by character
DEEPEST = 50  # levels of nested braces
ONE_LINE = 200  # a response that is one line of at most so many characters is an answer without a mark

_BRACES = re.compile(r"\\+f?box(?:ed)?\s*\{|\\[\\{}]|[{}]")
_BOX_FIRST = re.compile(r"\s*\\f?box")
_LOOSE_BOX = re.compile(r"\\boxed\s+([^\s{}$\\]{1,40})")
_ANCHOR = re.compile(r"(?:final answer|the answer|answer)(?: is|:| =)\**:?\s*(?=\S)", re.IGNORECASE)
_SHOWN = re.compile(r"\$\$(.+?)\$\$|\\\[(.+?)\\\]", re.DOTALL)  # a formula on lines of its own
_FINAL = re.compile(r"final answer is:?\s*\$([^$\n]{1,400})\$", re.IGNORECASE)  # said after the last box


@dataclass(frozen=True)
class Found:
    """The answer that was found in a response, and by which mark.

    Example:
        find("so \\\\boxed{4}")  # Found("4", "box")
        find("I do not know.\\nSorry.")  # Found(None, "none")
    """

    text: str | None  # None: no answer was found
    mark: str  # box, ####, answer-tag, anchor, whole, conclusion; if none: unclosed, unfinished-thought, none
    different: int = 1  # how many different answers were marked in this way
    values: tuple[str, ...] = ()  # what the sentence says, if the answer is a sentence: all of them must be right


def find(response: str) -> Found:
    """The answer of a response, after any reasoning section. It is the first of these that the response has:

    the last `\\boxed{}` that is in no other box, together with boxes joined to it by "and", "or" or a comma, unless
    some box is not closed; the line after the last `####`; the last `<answer>`; the sentence after "the answer is"; a
    response that is a single line, or the only formula in that line; the conclusion of the last statement
    (`conclusions`). If the answer is a sentence, the values that it concludes are found too.
    """
    text = response[response.rfind("</think>") + len("</think>") :] if "</think>" in response else response
    if "<think>" in text:
        return Found(None, "unfinished-thought")
    text = text[-SEEN:]
    boxes, unclosed = _boxes(text)
    if unclosed:
        return Found(None, "unclosed")
    if boxes:
        later = _FINAL.search(text, boxes[-1].end)
        return Found(later[1].strip(), "anchor") if later else _boxed(text, boxes)
    if "####" in text and (after := text[text.rfind("####") + 4 :].strip()):
        return Found(_line(after), "####")
    end = text.rfind("</answer>")
    start = text.rfind("<answer>", 0, max(end, 0))
    if start >= 0:
        return Found(text[start + len("<answer>") : end].strip(), "answer-tag")
    anchors = list(_ANCHOR.finditer(text[-LONGEST:]))
    if anchors and (after := text[-LONGEST:][anchors[-1].end() :].strip()):
        shown = _SHOWN.match(after)
        sentence = (shown[1] or shown[2]).strip() if shown else _sentence(_line(after))
        return Found(sentence, "anchor", values=concluded(sentence))
    whole = text.strip()
    if whole and "\n" not in whole and (len(whole) <= ONE_LINE or " " not in whole):
        return Found(_only_formula(whole), "whole", values=concluded(whole))
    values = concluded(whole)
    return Found(values[0], "conclusion", values=values) if values else Found(None, "none")


@dataclass(frozen=True)
class _Box:
    content: str
    start: int  # of the command
    end: int


class _Braced(NamedTuple):
    """A closed box by its places: of the command, of the content, of the brace behind it."""

    start: int
    inner: int
    last: int
    within: Sequence[_Braced]  # the closed boxes in it that are in no other box in it


_JOINT = re.compile(  # the text between two boxes of one list: marks, names, words
    r"(?:[\s$&~,;.{}]|\\[()\[\],;:!\s\\]|\\q?quad|\\text|\([a-z]\)|[a-zA-Z](?:_\{?\w+\}?)?\s*=|[a-z]+)*"
)
MOST_WORDS = 5  # between two boxes of one list
_JOINED = re.compile(r"^\s*$|[,;&]|\b(?:and|or)\b|\\q?quad")
_TURNED = re.compile(
    r"\b(?:is|are|was|were|so|then|thus|but|not|no|hence|gives?|get|equals?|wrong|instead)\b|[.;:!?]\s+[A-Z]|\n\s*\n"
)


def _boxed(text: str, boxes: list[_Box]) -> Found:
    """The last box, with the boxes before it that form a list with it."""
    first = len(boxes) - 1
    while first:
        between = text[boxes[first - 1].end : boxes[first].start]
        if len(between) > ONE_LINE or not _together(between):
            break
        first -= 1
    last = list(dict.fromkeys(box.content for box in boxes[first:]))
    before = {"".join(box.content.split()) for box in boxes[:first]}
    return Found(", ".join(last), "box", len(before | {"".join("".join(last).split())}))


def _together(between: str) -> bool:
    """Whether the text between two boxes only joins them to a list: a comma or "and", but no sentence that goes on."""
    few = len(re.findall(r"[a-z]{2,}", between.replace("\\quad", " "))) <= MOST_WORDS
    return few and bool(_JOINT.fullmatch(between) and _JOINED.search(between)) and not _TURNED.search(between)


def _only_formula(line: str) -> str:
    """The formula of a line such as `We find that $x < 3$`, if it has only one and no word or digit contradicts it."""
    pieces = re.split(r"(?<!\\)\$", line)
    words = pieces[0] + pieces[-1]
    plain = len(pieces) == 3 and pieces[1].strip() and not re.search(r"\d|\\|\bnot\b|n't|wrong|\bno\b", words)
    return pieces[1].strip() if plain and re.search(r"[a-zA-Z]{3}", pieces[0]) and not pieces[2].strip(" .") else line


def _boxes(text: str) -> tuple[list[_Box], bool]:
    """(the closed boxes that are in no other closed box, in order; whether a box was left open)."""
    stack: list[tuple[bool, int, int]] = []
    closed: list[_Braced] = []
    for match in _BRACES.finditer(text):
        mark = match[0]
        if mark == "}":
            box, start, inner = stack.pop() if stack else (False, 0, 0)
            if box:
                within: list[_Braced] = []
                while closed and closed[-1].start > start:
                    within.append(closed.pop())
                closed.append(_Braced(start, inner, match.start(), within))
        elif mark == "{" or "box" in mark:
            stack.append((mark != "{", match.start(), match.end()))
    boxes = [_Box(_unboxed(text, box), box.start, box.last + 1) for box in closed]
    return boxes or _loose(text), any(box for box, _, _ in stack)


def _loose(text: str) -> list[_Box]:
    """Boxes without braces."""
    return [_Box(match[1].rstrip(".,;"), *match.span()) for match in _LOOSE_BOX.finditer(text)]


def _unboxed(text: str, box: _Braced) -> str:
    """The content of a box without the boxes around it: of `\\boxed{\\boxed{3}}` it is 3."""
    while len(box.within) == 1 and _BOX_FIRST.match(text, box.inner):
        box = box.within[0]
    content = text[box.inner : box.last].strip()
    loose = _loose(content) if not box.within and _BOX_FIRST.match(content) else []
    return loose[0].content if len(loose) == 1 else content


def _line(text: str) -> str:
    """The first line of a text. If it begins a matrix, the further lines of the matrix are added."""
    first, *rest = text.splitlines()
    while rest and len(first) < LONGEST and first.count(r"\begin") > first.count(r"\end"):
        first += " " + rest.pop(0)
    return first.strip()


def _sentence(text: str) -> str:
    """The first sentence without its full stop; a point between digits is no full stop."""
    text = re.split(r"(?<=[^\s\d])\.\s|(?<=\d)\.\s", text + " ")[0].strip()
    return text.strip("*").strip()


# --- one form for many notations ----------------------------------------------------------------------------

_ROOT = re.compile(r"(?:√|(?<![\\a-zA-Z])sqrt)\s*(\d+(?:\.\d+)?|[a-zA-Z](?![a-zA-Z]))")  # of all the digits
_SUPERSCRIPTS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ", "0123456789+-n"))
_CHARACTERS = {
    "−": "-", "–": "-", "‐": "-", "‑": "-", "×": r"\times ", "✕": r"\times ", "÷": r"\div ", "·": r"\cdot ",
    "⋅": r"\cdot ", "∗": "*", "π": r"\pi ", "∞": r"\infty ", "≤": r"\leq ", "≥": r"\geq ", "≠": r"\neq ",
    "±": r"\pm ", "√": r"\sqrt ", "∪": r"\cup ", "∩": r"\cap ", "∅": r"\emptyset ", "°": r"^\circ ", "′": "'",
    "½": r"\frac{1}{2}", "⅓": r"\frac{1}{3}", "⅔": r"\frac{2}{3}", "¼": r"\frac{1}{4}", "¾": r"\frac{3}{4}",
    "⅕": r"\frac{1}{5}", "⅛": r"\frac{1}{8}", "θ": r"\theta ", "α": r"\alpha ", "β": r"\beta ", "λ": r"\lambda ",
    "，": ",", "、": ",", "％": "%", "∈": r"\in ", "≈": r"\approx ", "€": r"\euro ", "£": r"\sterling ", "¥": r"\yen ",
    "₹": r"\rupee ", "∓": r"\mp ", "…": r"\ldots ", "ℝ": r"\mathbb{R}", "∠": r"\angle ",
}  # fmt: skip
_ESCAPED = re.compile(
    r"(?<!\\)\\\\(?=(?:d?frac|left|right|sqrt|pi|text|boxed|infty|pm|cdot|times|le|ge|leq|geq|cup)\b)"
)
_MONEY = re.compile(r"\\\$(?=\s*-?[\d.])")
_DROPPED = re.compile(
    r"\\(?:displaystyle|textstyle|left(?![a-z])\.?|right(?![a-z])\.?|bigl?|bigr|Bigl?|Bigr|limits)(?![a-zA-Z])"
    r"|(?<!\\)\\[!,;:>()\[\]]|\\q?quad|\\\$|\$|(?<!\\)\\(?=\s|$)|~|&nbsp;|\*\*(?=\s*$)|^\s*\*\*"
    r"|\\(?:small|large|bf|rm)(?![a-zA-Z])|\\phantom\s*\{[^{}]*\}"
)
_RENAMED = [
    (re.compile(r"\\operatorname\*?\s*\{\s*([a-zA-Z]+)\s*\}"), r"\\\1 "),
    (re.compile(r"\\[dtc]frac(?![a-zA-Z])"), r"\\frac"),
    (re.compile(r"(?<=\d)(?:,\s*\\[!,]|\s*\{\s*,\s*\}|\\[,!;])\s*(?=\d{3}(?!\d))"), ""),
    (re.compile(r"\\(?:left|right)?\\\{|\\lbrace(?![a-zA-Z])"), r"\\{"),
    (re.compile(r"\\rbrace(?![a-zA-Z])"), r"\\}"),
    (re.compile(r"\\(?:leqslant|leqq|le)(?![a-zA-Z])|<="), r"\\leq "),
    (re.compile(r"\\(?:geqslant|geqq|ge)(?![a-zA-Z])|>="), r"\\geq "),
    (re.compile(r"\\lt(?![a-zA-Z])"), "<"),
    (re.compile(r"\\gt(?![a-zA-Z])"), ">"),
    (re.compile(r"\\(?:[lr]?vert|[lr]Vert|mathrel\{\|\})(?![a-zA-Z])"), "|"),
    (re.compile(r"\\(?:simeq|doteq|thickapprox)(?![a-zA-Z])"), r"\\approx "),
    (re.compile(r"\\ne(?![a-zA-Z])|!="), r"\\neq "),
    (
        re.compile(r"\\(?:mathrm|mathbf|mathit|mathsf|textbf|textit|textrm|textsf|textnormal|mbox|hbox)\s*(?=\{)"),
        r"\\text",
    ),
    (re.compile(r"\\text\s*\{\s*\\text\s*\{([^{}]*)\}\s*\}"), r"\\text{\1}"),
    (re.compile(r"(?<!\\)\{([^{}]*)\\choose([^{}]*)\}"), r"\\binom{\1}{\2}"),
    (re.compile(r"(?<!\\)\{([^{}]*)\\over(?![a-zA-Z])([^{}]*)\}"), r"\\frac{\1}{\2}"),
    (re.compile(r"\\%"), "%"),
    (re.compile(r"\{,\}"), ","),
    (re.compile(r"\^\s*\{\s*\\circ\s*\}|\\degree(?![a-zA-Z])"), r"^\\circ "),
    (re.compile(r"\\(?:varnothing|\{\s*\\\})"), r"\\emptyset"),
    (
        re.compile(r"(?<![\\a-zA-Z])(sin|cos|tan|cot|sec|csc|log|ln|exp|arcsin|arccos|arctan|sqrt|pi)(?![a-zA-Z])"),
        r"\\\1 ",
    ),
    (re.compile(r"(?<=[\d}])\s*(?:percent(?:age)?|per cent|pct)(?![a-zA-Z])"), "%"),
    (re.compile(r"\\sqrt\s*\(([^()]*)\)"), r"\\sqrt{\1}"),
    (re.compile(r"\\sqrt\s*(\d|[a-zA-Z])"), r"\\sqrt{\1}"),
    (re.compile(r"\\frac\s*(\d)\s*(\d)"), r"\\frac{\1}{\2}"),
    (re.compile(r"\\frac\s*(\d)\s*\{"), r"\\frac{\1}{"),
    (re.compile(r"(?<![\\a-zA-Z])(?:infinity|inf|oo)(?![a-zA-Z])"), r"\\infty "),
]


def clean(text: str) -> str:
    """The text in one notation: look-alike characters, spacing commands and alternative commands are replaced.

    Spaces are kept, because they can separate numbers.
    """
    text = text[: 4 * LONGEST].encode("utf-8", "replace").decode("utf-8")
    text = _ROOT.sub(r"\\sqrt{\1}", _raised(text))
    text = "".join(_CHARACTERS.get(char, char) for char in text)
    text = unicodedata.normalize("NFKC", text)
    text = "".join(_plain(char) for char in text)
    text = _ESCAPED.sub(lambda _: "\\", text)
    text = _MONEY.sub(lambda _: r"\dollar ", text)
    if text.count("$") % 2:
        text = re.sub(r"^(\s*-?\s*)\$(?=\s*[\d.])|(?<=\d)\s*\$\s*$", r"\1\\dollar ", text)
    for pattern, name in _RENAMED:
        text = pattern.sub(name, text)
    text = _DROPPED.sub(" ", text)
    return " ".join(text.split()).strip().rstrip(".").strip() or text.strip()


def _raised(text: str) -> str:
    """Superscript characters as powers: `x²` becomes `x^{2}`. Unicode normalisation alone would make it `x2`."""
    pieces = re.split(f"([{''.join(_SUPERSCRIPTS)}]+)", text)
    return "".join(
        "^{" + "".join(_SUPERSCRIPTS[char] for char in piece) + "}" if piece and piece[0] in _SUPERSCRIPTS else piece
        for piece in pieces
    )


def _plain(char: str) -> str:
    """A character in plain form: digits of any script as 0 to 9, spaces and
    controls as a space, invisible ones as "".
    """
    kind = unicodedata.category(char)
    if kind == "Nd":
        return str(unicodedata.decimal(char))
    if kind in ("Cf", "Cs", "Co", "Cn", "Mn"):
        return ""
    return " " if kind in ("Cc", "Zs", "Zl", "Zp") else char


def squeezed(text: str) -> str:
    """The text without spaces, except spaces between digits, or between a command and a letter."""
    return re.sub(r"(\\[a-zA-Z]+|\d)\s+(?=[a-zA-Z\d])|\s+", _kept_space, text)


def _kept_space(match: re.Match[str]) -> str:
    before, after = match[1] or "", match.string[match.end()] if match.end() < len(match.string) else ""
    apart = (before.startswith("\\") and after.isalpha()) or (before.isdigit() and after.isdigit())
    return f"{before} " if apart else before


def balanced(text: str) -> bool:
    """Whether all braces close, and no brackets are nested too deeply to be read."""
    braces = others = 0
    for match in re.finditer(r"\\[\\{}]|[{}()\[\]]", text):
        braces += {"{": 1, "}": -1}.get(match[0], 0)
        others += 1 if match[0] in "([" else -1 if match[0] in ")]" else 0
        if braces < 0 or max(braces, others) > DEEPEST:
            return False
    return braces == 0
