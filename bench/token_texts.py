"""Texts and conversations on which tokenizers are compared: made from a seed, the same on every machine.

Text `i` is drawn from a stream of its own, so that another number of texts changes none of them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import NamedTuple

SEED, COUNT, TALKS = 0, 5000, 50


def _listed(text: str) -> list[str]:
    return text.split(" ")


WORDS = _listed(
    "the a of and to in is it was for on are as with his they at be this from have or one had by word but not what all "
    "were we when your can said there use an each which she do how their if will up other about out many then them "
    "these so some her would make like him into time has look two more write go see number no way could people my than "
    "first water been call who oil its now find long down day did get come made may part don't I'm we'll they've "
    "CAN'T it'S you're he'd O'Neill John's rock-and-roll naïve café Zürich señor coöperate fiancée e.g. U.S.A."
)
SPECIAL = ("<|im_start|>", "<|im_end|>", "<|endoftext|>", "<repo_name>", "<file_sep>", "<reponame>", "<issue_start>")
SPECIAL += ("<jupyter_code>", "<empty_output>", "<gh_stars>", "<|im_start", "im_end|>", "<| im_end |>", "<|", "|>")
SPACES = (
    " ",
    "  ",
    "   ",
    "\t",
    "\n",
    "\r\n",
    "\n\n",
    " \n",
    "\n ",
    "\r",
    "\v",
    "\f",
    "\x1c",
    "\x85",
    "\xa0",
    "\u1680",
)
SPACES += ("\u2000", "\u2003", "\u200b", "\u2028", "\u2029", "\u202f", "\u205f", "\u2060", "\u3000", "\ufeff")
SPACES += ("\u180e",)
EMOJI = _listed("😀 🙂 ❤️ ❤ 👍🏽 👩‍💻 👨‍👩‍👧‍👦 🇫🇷 🇯🇵 1️⃣ #️⃣ ☃ ✈️ 🏴‍☠️ 🧑🏿‍🚀 🤷‍♀️ ⌚ ㊗ ♻ ⁉️ 🪿 🫨")
BROKEN = ("\ufffd", "\ufffe", "\uffff", "\x00", "\x01", "\x07", "\x1b[0m", "\x7f", "\x80", "\x9f", "\U0010ffff")
SCRIPTS = {
    "Latin with marks": (0xC0, 0x24F),
    "marks that combine": (0x300, 0x36F),
    "Greek": (0x370, 0x3FF),
    "Cyrillic": (0x400, 0x4FF),
    "Armenian": (0x531, 0x58F),
    "Hebrew": (0x590, 0x5FF),
    "Arabic": (0x600, 0x6FF),
    "Syriac": (0x700, 0x74F),
    "Devanagari": (0x900, 0x97F),
    "Bengali": (0x980, 0x9FF),
    "Tamil": (0xB80, 0xBFF),
    "Thai": (0xE00, 0xE7F),
    "Tibetan": (0xF00, 0xFFF),
    "Georgian": (0x10A0, 0x10FF),
    "Hangul, letters": (0x1100, 0x11FF),
    "Ethiopic": (0x1200, 0x137F),
    "Cherokee": (0x13A0, 0x13FF),
    "Khmer": (0x1780, 0x17FF),
    "Mongolian": (0x1800, 0x18AF),
    "punctuation": (0x2010, 0x205E),
    "superscripts, currencies": (0x2070, 0x20CF),
    "letterlike, number forms": (0x2100, 0x218F),
    "arrows, mathematics": (0x2190, 0x22FF),
    "technical": (0x2300, 0x23FF),
    "enclosed numbers": (0x2460, 0x24FF),
    "boxes, shapes": (0x2500, 0x25FF),
    "Braille": (0x2800, 0x28FF),
    "Hiragana, Katakana": (0x3040, 0x30FF),
    "enclosed CJK": (0x3200, 0x32FF),
    "Han": (0x4E00, 0x9FFF),
    "Hangul": (0xAC00, 0xD7A3),
    "private": (0xE000, 0xE0FF),
    "Arabic forms": (0xFB50, 0xFDFF),
    "full width": (0xFF00, 0xFFEF),
    "Gothic": (0x10330, 0x1034F),
    "cuneiform": (0x12000, 0x1207F),
    "letters of mathematics": (0x1D400, 0x1D7FF),
    "pictures": (0x1F300, 0x1FAFF),
    "Han, plane 2": (0x20000, 0x200FF),
    "tags": (0xE0000, 0xE007F),
}
DIGITS = {"Arabic": 0x660, "Devanagari": 0x966, "Bengali": 0x9E6, "Thai": 0xE50, "full width": 0xFF10, "bold": 0x1D7CE}
ODD_NUMBERS = _listed("² ³ ¹ ½ ¾ ⅓ Ⅳ ⅻ ① ⑳ ㉈ 〇 一二三 ௧௦ 𐄇 ৴")
NAMES = ("x", "count", "user_id", "totalSum", "MAX_LEN", "i", "self.value", "data2", "tmp1", "node", "__init__", "λ")
OPERATORS = ("+", "-", "*", "/", "//", "%", "==", "!=", "<=", ">=", "->", "=>", "::", "&&", "||", "+=", "<<", "**")


class Text(NamedTuple):
    """A text and the kind of texts that it belongs to."""

    kind: str
    text: str


def _sentence(rng: random.Random) -> str:
    words = [rng.choice(WORDS) for _ in range(rng.randint(3, 14))]
    joined = " ".join(word + ("," if rng.random() < 0.1 else "") for word in words)
    return joined[:1].upper() + joined[1:] + rng.choice((".", "?", "!", "...", ":", ' "', ""))


def _number(rng: random.Random) -> str:
    whole = str(rng.randrange(10 ** rng.randint(1, 12)))
    forms: tuple[Callable[[], str], ...] = (
        lambda: whole,
        lambda: f"{rng.randrange(10**7):,}",
        lambda: f"{rng.uniform(-1000, 1000):.{rng.randint(0, 6)}f}",
        lambda: f"{rng.randint(1900, 2100)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}",
        lambda: f"${rng.randrange(1000)}.{rng.randrange(100):02}",
        lambda: f"{rng.randrange(256)}.{rng.randrange(256)}.0.{rng.randrange(256)}",
        lambda: f"0x{rng.randrange(1 << 32):X}",
        lambda: f"{rng.randrange(1, 99)}e-{rng.randrange(30)}",
        lambda: f"{rng.randrange(24):02}:{rng.randrange(60):02}",
        lambda: f"{rng.randrange(100)}%",
        lambda: f"{rng.choice(WORDS)}{whole}",
        lambda: f"{whole}{rng.choice(WORDS)}",
        lambda: f"{rng.randrange(100)} + {rng.randrange(100)} = ",
        lambda: f"00{whole}",
        lambda: rng.choice(ODD_NUMBERS) * rng.randint(1, 3),
        lambda: "".join(chr(rng.choice(tuple(DIGITS.values())) + rng.randrange(10)) for _ in range(rng.randint(1, 5))),
    )
    return rng.choice(forms)()


def _digits(rng: random.Random) -> str:
    return rng.choice((" ", "", "  ", ", ", "\n")).join(_number(rng) for _ in range(rng.randint(1, 5)))


def _spaces(rng: random.Random) -> str:
    pieces = [rng.choice(SPACES) * rng.randint(1, 4)]
    for _ in range(rng.randint(1, 6)):
        pieces += [rng.choice(WORDS) if rng.random() < 0.7 else "", rng.choice(SPACES) * rng.randint(1, 9)]
    return "".join(pieces)


def _emoji(rng: random.Random) -> str:
    pieces = (rng.choice(EMOJI) if rng.random() < 0.6 else rng.choice(WORDS) for _ in range(rng.randint(1, 8)))
    return rng.choice(("", " ")).join(pieces)


def _broken(rng: random.Random) -> str:
    pieces = (rng.choice(BROKEN) if rng.random() < 0.5 else rng.choice(WORDS) for _ in range(rng.randint(1, 8)))
    return rng.choice(("", " ")).join(pieces)


def _line_of_code(rng: random.Random) -> str:
    name, other, operator = rng.choice(NAMES), rng.choice(NAMES), rng.choice(OPERATORS)
    return rng.choice(
        (
            f"{name} {operator} {other}",
            f"def {name}({other}: int = {rng.randrange(100)}) -> None:",
            f"for (int {name}=0; {name}<{rng.randrange(999)}; ++{name}) {{ {other}[{name}]++; }}",
            f"if not {name}.startswith('{rng.choice(WORDS)}'):  # {_sentence(rng)}",
            f'{{"{name}": [{rng.randrange(9)}, {rng.random():.3f}, null], "{other}": "\\n\\t\\u00e9"}}',
            f'<a href="https://example.org/{name}?{other}={rng.randrange(99)}#top">{_sentence(rng)}</a>',
            f"SELECT {name}, COUNT(*) FROM `{other}` WHERE {name} {operator} '{rng.choice(WORDS)}';",
            f"\\frac{{{name}^{{{rng.randrange(20)}}}}}{{\\sqrt{{{other}}}}}",
            f"return lambda {name}: {name} {operator} {rng.randrange(1 << 20)}",
            f"$ ls -la ~/{name}/*.{other} | grep -E '^[a-z]+{rng.randrange(10)}$'",
        )
    )


def _code(rng: random.Random) -> str:
    indent = rng.choice(("    ", "\t", "  "))
    lines = (indent * rng.randint(0, 3) + _line_of_code(rng) for _ in range(rng.randint(1, 3)))
    return rng.choice(("\n", "\r\n", "\n\n")).join(lines)


def _scripts(rng: random.Random) -> str:
    chosen = rng.sample(tuple(SCRIPTS.values()), rng.randint(1, 3))
    pieces = []
    for low, high in chosen:
        pieces.append("".join(chr(rng.randint(low, high)) for _ in range(rng.randint(1, 8))))
    return rng.choice(("", " ")).join(pieces)


def _special(rng: random.Random) -> str:
    pieces = (rng.choice(SPECIAL) if rng.random() < 0.5 else rng.choice((*WORDS, "\n", " ")) for _ in range(6))
    return rng.choice(("", " ")).join(pieces)


def _anything(rng: random.Random) -> str:
    """Characters of all planes, halves of surrogate pairs left out."""
    found = []
    while len(found) < 8:
        point = rng.randrange(rng.choice((0x80, 0x3000, 0x10000, 0x20000, 0x110000)))
        if not 0xD800 <= point < 0xE000:
            found.append(chr(point))
    return "".join(found)


def _mixed(rng: random.Random) -> str:
    plain = (_sentence, _number, _emoji, _line_of_code, _scripts, _spaces)
    return rng.choice(("", " ", "\n")).join(rng.choice(plain)(rng) for _ in range(rng.randint(2, 3)))


MADE: Mapping[str, Callable[[random.Random], str]] = {
    "sentence": _sentence,
    "digits": _digits,
    "spaces": _spaces,
    "emoji": _emoji,
    "broken": _broken,
    "code": _code,
    "scripts": _scripts,
    "special": _special,
    "anything": _anything,
    "mixed": _mixed,
}


def texts(count: int = COUNT, *, seed: int = SEED) -> list[Text]:
    """Of each kind as many, no two alike; the first one is empty."""
    found = {"": "sentence"}
    for i in range(1, count):
        rng, kind = random.Random(f"{seed}/{i}"), tuple(MADE)[i % len(MADE)]
        while (text := MADE[kind](rng)) in found:
            pass
        found[text] = kind
    return [Text(kind, text) for text, kind in found.items()]


def talks(count: int = TALKS, *, seed: int = SEED) -> list[list[dict[str, str]]]:
    """Conversations that the user's turn ends; every second one has a turn of the system before it."""
    found = []
    for i in range(count):
        rng = random.Random(f"{seed}/talk/{i}")
        talk = [{"role": "system", "content": _sentence(rng)}] if i % 2 else []
        for _ in range(rng.randint(0, 3)):
            talk += [{"role": "user", "content": _said(rng)}, {"role": "assistant", "content": _said(rng)}]
        found.append([*talk, {"role": "user", "content": _said(rng)}])
    return found


def _said(rng: random.Random) -> str:
    return rng.choice(tuple(MADE.values()))(rng)
